package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line, and the data of one event, of an event stream. The readers of the vendors' libraries stop
// at 1 MiB (OpenAI) or 32 MiB; a tool call with a file in it is easily longer than the former.
const maxLine = 16 << 20

// keptBuffer is how much memory a reader keeps between events.
const keptBuffer = 1 << 20

// errLineTooLong is a line or an event over maxLine.
var errLineTooLong = errors.New("a line of the event stream is over 16 MiB")

// event is one entry of an event stream. A comment is an event without data.
type event struct {
	name string // the "event" field
	data []byte // valid until the next call
}

// eventReader reads an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). It differs from
// the standard where providers do: an event that the end of the stream cuts off before its empty line still counts,
// and comments are reported, because they show that the provider is alive. Lines end with LF or CRLF.
type eventReader struct {
	r    *bufio.Reader
	line []byte
	data []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next event; io.EOF after the last.
func (e *eventReader) next() (event, error) {
	if cap(e.data) > keptBuffer {
		e.data = nil
	}
	e.data = e.data[:0]
	var name string
	var seen bool
	for {
		line, err := e.readLine()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if seen && errors.Is(err, io.EOF) {
				return event{name, bytes.TrimSuffix(e.data, []byte("\n"))}, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if seen {
				return event{name, bytes.TrimSuffix(e.data, []byte("\n"))}, nil
			}
			name = "" // an event without data is none
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "":
			if !seen && name == "" {
				return event{}, nil
			}
		case "event":
			name = string(value)
		case "data":
			seen = true
			if len(e.data)+len(value) > maxLine {
				return event{}, errLineTooLong
			}
			e.data = append(append(e.data, value...), '\n')
		}
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// readLine returns a line without its end. The slice is valid until the next call.
func (e *eventReader) readLine() ([]byte, error) {
	if cap(e.line) > keptBuffer {
		e.line = nil
	}
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if len(e.line)+len(part) > maxLine+len("data: \r\n") {
			return nil, errLineTooLong
		}
		if err == nil && len(e.line) == 0 {
			return trimLine(part), nil
		}
		e.line = append(e.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trimLine(e.line), err
		}
	}
}

func trimLine(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	return bytes.TrimPrefix(line, byteOrderMark)
}
