package rest

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// frame is one event of a stream, or a comment.
type frame struct{ id, event, data, comment string }

// frames reads server-sent events as they come.
type frames struct {
	t     *testing.T
	lines *bufio.Reader
}

func readFrames(t *testing.T, r io.Reader) *frames { return &frames{t, bufio.NewReader(r)} }

// next returns the next event or comment; false at the end of the stream.
func (f *frames) next() (frame, bool) {
	f.t.Helper()
	var out frame
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			if line != "" || out != (frame{}) {
				f.t.Errorf("the stream ends within an event: %+v %q", out, line)
			}
			return frame{}, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n":
			return out, true
		case name == "id":
			out.id = value
		case name == "event":
			out.event = value
		case name == "data":
			out.data = value
		case name == "":
			out.comment = value
		default:
			f.t.Errorf("unknown line %q", line)
		}
	}
}

// want reads up to the next event and compares it; an empty want.data is not compared.
func (f *frames) want(want frame) frame {
	f.t.Helper()
	got, ok := f.next()
	for ok && got.comment != "" && want.comment == "" {
		got, ok = f.next()
	}
	if !ok {
		f.t.Fatalf("the stream ended, want %+v", want)
	}
	compared := got
	if want.data == "" {
		compared.data = ""
	}
	if compared != want {
		f.t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	return got
}

// slowWriter is the connection of a client that reads only when told: each value of take, or its closing, lets one
// write through.
type slowWriter struct {
	take  <-chan struct{}
	began chan struct{} // one value for each write that waits

	mu        sync.Mutex
	header    http.Header
	text      strings.Builder
	deadlines []time.Time
}

func newSlowWriter(take <-chan struct{}) *slowWriter {
	return &slowWriter{take: take, began: make(chan struct{}, 4096), header: http.Header{}}
}

func (w *slowWriter) Header() http.Header { return w.header }
func (w *slowWriter) WriteHeader(int)     {}
func (w *slowWriter) Flush()              {}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.began <- struct{}{}
	<-w.take
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *slowWriter) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadlines = append(w.deadlines, t)
	return nil
}

func (w *slowWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
