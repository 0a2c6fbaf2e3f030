package guard

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Limits of what is read of a refused body.
const (
	drainSize = 64 << 20
	drainTime = 5 * time.Second
)

// drain sends the refusal off and then reads what the client still sends, into nothing. Many clients send their whole
// request before they look for an answer; if the connection were closed meanwhile, they would see a broken pipe and
// never the reason. Short bodies are net/http's own business. A client that waits for "100 Continue" sends nothing any
// more once it has the refusal.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil || r.Header.Get("Expect") != "" {
		return
	}
	rc := http.NewResponseController(w)
	if rc.Flush() != nil || rc.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	// The end of the server is the end of this, too.
	defer context.AfterFunc(r.Context(), func() { _ = rc.SetReadDeadline(time.Now()) })()
	_, _ = io.CopyN(io.Discard, r.Body, drainSize)
}
