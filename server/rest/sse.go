package rest

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// eventStream is the media type of server-sent events (WHATWG HTML, section 9.2).
const eventStream = "text/event-stream"

// wantsStream reports whether the Accept header names the event stream. A wildcard does not: who can read anything
// gets the simple answer.
func wantsStream(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for item := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(item)
			if err != nil || kind != eventStream {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
				return true
			}
		}
	}
	return false
}

// stream writes server-sent events. It belongs to one goroutine.
type stream struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	stop func() bool
}

// openStream sends the headers. The caller closes the stream before its handler returns.
//
// There is no write deadline, a stream lasts as long as its reader: one that does not read holds up this goroutine and
// nobody else. When the request ends, because the client has left or the program stops, a write that waits for such a
// reader is released after streamGrace.
func (c *call) openStream() *stream {
	s := &stream{w: c.w, conn: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a reverse proxy must not collect events
	h.Set("X-Content-Type-Options", "nosniff")
	_ = s.conn.SetWriteDeadline(time.Time{}) // writers without deadlines have none to clear
	s.stop = context.AfterFunc(c.ctx(), func() { _ = s.conn.SetWriteDeadline(time.Now().Add(streamGrace)) })
	c.w.WriteHeader(http.StatusOK)
	_ = s.conn.Flush()
	return s
}

func (s *stream) close() { s.stop() }

// event sends one event; an empty id is left out. The error means that the reader is gone.
func (s *stream) event(name, id string, data any) error {
	text, err := encode(data) // one line: JSON escapes line breaks
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(text)
	b.WriteString("\n\n")
	return s.send(b.Bytes())
}

// alive sends a comment, which readers skip.
func (s *stream) alive() error { return s.send([]byte(": keepalive\n\n")) }

func (s *stream) send(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.conn.Flush()
}
