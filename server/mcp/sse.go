package mcp

import (
	"net/http"
	"runtime"
	"sync"
	"time"
)

const (
	// stallLimit is how long a client may take for one piece of a stream before its connection counts as dead.
	stallLimit = 5 * time.Minute
	pieceSize  = 32 << 10
	// hurryLimit is the same once the session has ended.
	hurryLimit = 500 * time.Millisecond
)

var (
	contentTypeJSON   = []string{"application/json"}
	contentTypeStream = []string{"text/event-stream"}
	cacheControl      = []string{"no-cache, no-transform"}
	noBuffering       = []string{"no"}
	keepalive         = []byte(": keepalive\n\n")
)

// sseWriter writes an event stream. A peer that stops reading is given up after stallLimit for each piece, so that a
// suspended client holds neither goroutine nor memory for ever, while one that reads slowly is served to the end.
type sseWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController

	mu      sync.Mutex
	hurried bool
	closed  bool
	failed  bool
}

// openStream sends the headers.
func openStream(w http.ResponseWriter) *sseWriter {
	o := &sseWriter{w: w, rc: http.NewResponseController(w)}
	h := w.Header()
	h["Content-Type"] = contentTypeStream
	h["Cache-Control"] = cacheControl
	h["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	_ = o.rc.SetReadDeadline(time.Time{})
	return o
}

// write sends b without flushing.
func (o *sseWriter) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), pieceSize)]
		o.extend()
		if _, err := o.w.Write(piece); err != nil {
			return o.fail(err)
		}
		b = b[len(piece):]
	}
	return nil
}

func (o *sseWriter) flush() error {
	o.extend()
	if err := o.rc.Flush(); err != nil {
		return o.fail(err)
	}
	return nil
}

func (o *sseWriter) fail(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
	return err
}

func (o *sseWriter) extend() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.hurried {
		_ = o.rc.SetWriteDeadline(time.Now().Add(stallLimit))
	}
}

// hurry unblocks a write that waits for a peer which does not read.
func (o *sseWriter) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && !o.hurried {
		o.hurried = true
		_ = o.rc.SetWriteDeadline(time.Now().Add(hurryLimit))
	}
}

// close leaves the connection as the next request on it expects it: net/http does not reset a deadline by itself. After
// a failure the deadline stays, so that the last bytes of the response cannot block either.
func (o *sseWriter) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if !o.failed {
		_ = o.rc.SetWriteDeadline(time.Time{})
	}
}

// serveStream writes the frames of st after number pos until the stream ends, another request takes over, or the client
// goes away. call makes the heartbeats; it is nil when the call is over.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, st *stream, pos uint64, call *Call, back bool) {
	out := openStream(w)
	defer out.close()
	rd, ok := st.attach(pos, out, back)
	if !ok {
		return
	}
	defer st.detach(rd)
	runtime.Gosched() // a tool that needs no time then has its answer leave in one packet with the headers
	comment := s.clock() + s.opt.Heartbeat
	var timer *time.Timer
	var frames [][]byte
	for opening := true; ; opening = false {
		var last, paused bool
		frames, pos, last, paused = st.take(rd, pos, frames[:0])
		size := 0
		for i, frame := range frames {
			if out.write(frame) != nil {
				return
			}
			size += len(frame)
			frames[i] = nil
		}
		if opening && last && size < pieceSize {
			return // returning flushes, and so little cannot block a connection that was idle
		}
		if (len(frames) > 0 || opening) && out.flush() != nil || last || paused {
			return
		}
		if timer == nil {
			timer = time.NewTimer(s.opt.Heartbeat)
			defer timer.Stop()
		}
		select {
		case <-rd.wake:
		case <-r.Context().Done():
			return
		case <-timer.C:
			now := s.clock()
			if now >= comment {
				comment = now + s.opt.Heartbeat
				if out.write(keepalive) != nil || out.flush() != nil {
					return
				}
			}
			wait := comment - now
			if next := call.nextBeat(); next > 0 {
				wait = min(wait, next)
			}
			timer.Reset(wait)
		}
	}
}
