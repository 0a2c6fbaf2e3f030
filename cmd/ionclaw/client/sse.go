package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds one line of an event stream, in bytes: a whole answer can be one line.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("an event is longer than %d MiB", maxLine>>20)

// frame is one event of a stream.
type frame struct {
	event string
	data  []byte
}

// frames reads server-sent events (WHATWG HTML, section 9.2). Comments, ids and unknown fields are skipped; lines end
// with LF or CR LF, the only endings the program writes.
type frames struct{ r *bufio.Reader }

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 16<<10)} }

// next returns the next event that has data. io.EOF: the stream ended; an unfinished event before it is dropped, as
// the standard says.
func (f *frames) next() (frame, error) {
	var out frame
	var data [][]byte
	for {
		line, err := f.line()
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			if data == nil {
				out.event = ""
				continue
			}
			out.data = bytes.Join(data, []byte("\n"))
			return out, nil
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			out.event = value
		case "data":
			data = append(data, []byte(value))
		}
	}
}

// line returns one whole line without its ending.
func (f *frames) line() ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
