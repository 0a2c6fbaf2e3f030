package mcp

import (
	"net/http"
	"time"
)

// listener is the GET stream of a session. Its events carry no ids: a client that reconnects would name one that an
// earlier process gave out, and be refused. What it missed is kept in the session instead and sent on the next stream.
type listener struct {
	wake chan struct{} // something to send; capacity 1
	gone chan struct{} // closed when another stream replaces this one, or the session ends
	out  *sseWriter
}

func (l *listener) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *listener) close() {
	close(l.gone)
	l.out.hurry()
}

var toolsChanged = []byte("event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n")

// serveListener writes the session's notifications until the client goes away, a newer GET replaces this one, or the
// session ends.
func (s *Server) serveListener(w http.ResponseWriter, r *http.Request, sess *session) {
	out := openStream(w)
	defer out.close()
	l := &listener{wake: make(chan struct{}, 1), gone: make(chan struct{}), out: out}
	if !sess.listen(l) {
		return
	}
	s.opt.OnChange()
	defer func() {
		sess.unlisten(l)
		s.touch(sess, time.Now())
		s.opt.OnChange()
	}()
	if out.flush() != nil {
		return
	}
	comment := time.Now().Add(s.opt.Heartbeat)
	timer := time.NewTimer(s.opt.Heartbeat)
	defer timer.Stop()
	var buf []byte
	for {
		var next time.Time
		now := time.Now()
		buf, next = sess.notifications(l, now, buf[:0])
		if !now.Before(comment) {
			buf = append(buf, keepalive...)
			comment = now.Add(s.opt.Heartbeat)
			s.linger(sess, now)
		}
		if len(buf) > 0 && (out.write(buf) != nil || out.flush() != nil) {
			return
		}
		if next.IsZero() || comment.Before(next) {
			next = comment
		}
		timer.Reset(next.Sub(now))
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.gone:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// listen makes l the session's stream. The one before, if any, closes.
func (s *session) listen(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return false
	}
	if s.listener != nil {
		s.listener.close()
	}
	s.listener = l
	s.inUse.Add(1)
	return true
}

func (s *session) unlisten(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse.Add(-1)
	if s.listener == l {
		s.listener = nil
	}
}

func (s *session) markChanged(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.updates[name]; u != nil {
		u.dirty = true
		if s.listener != nil {
			s.listener.signal()
		}
	}
}

func (s *session) markListChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listChanged = true
	if s.listener != nil {
		s.listener.signal()
	}
}

// notifications appends the frames that are due, and returns when the next one will be; the zero time when nothing
// waits. A replaced listener gets nothing.
func (s *session) notifications(l *listener, now time.Time, buf []byte) ([]byte, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	if s.listener != l {
		return buf, next
	}
	if s.listChanged {
		s.listChanged = false
		buf = append(buf, toolsChanged...)
	}
	for _, u := range s.updates {
		if !u.dirty {
			continue
		}
		if due := u.sent.Add(updateInterval); due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		u.dirty, u.sent = false, now
		for _, uri := range u.uris {
			buf = append(buf, `event: message`+"\n"+`data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`...)
			buf = append(appendString(buf, uri), "}}\n\n"...)
		}
	}
	return buf, next
}
