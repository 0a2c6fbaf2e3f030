package server

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/google/uuid"

	"ionclaw-tray/server/guard"
)

// codeInternal is JSON-RPC's "internal error".
const codeInternal = -32603

// recovering turns a panic below it into an answer. The text is generic; a
// correlation id leads to the log.
func recovering(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun := &begunWriter{ResponseWriter: w}
			defer func() {
				v := recover()
				if v == nil {
					return
				}
				if err, ok := v.(error); ok && err == http.ErrAbortHandler {
					panic(v) // asked for by the handler, nothing to report
				}
				id := uuid.NewString()
				log.Error("panic in a handler", "correlation_id", id, "method", r.Method, "path", r.URL.Path,
					"panic", v, "stack", string(debug.Stack()))
				if begun.yes {
					panic(http.ErrAbortHandler)
				}
				d := &guard.Denial{
					Status:  http.StatusInternalServerError,
					Code:    "internal_error",
					Message: "An internal error occurred.",
					Hint:    "The log has the details under " + id + ".",
				}
				if r.URL.Path == MCPPath {
					guard.WriteRPC(w, d, codeInternal)
					return
				}
				guard.DenyAPI(w, r, d)
			}()
			next.ServeHTTP(begun, r)
		})
	}
}

// begunWriter knows whether an answer has begun.
type begunWriter struct {
	http.ResponseWriter
	yes bool
}

func (w *begunWriter) WriteHeader(status int) {
	// 1xx are announcements; the answer follows.
	w.yes = w.yes || status >= 200 || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

func (w *begunWriter) Write(p []byte) (int, error) {
	w.yes = true
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *begunWriter) Flush() {
	w.yes = true
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *begunWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var _ http.Flusher = (*begunWriter)(nil)
