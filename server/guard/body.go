package guard

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// DefaultMaxBody bounds a request body, in bytes, when a policy does not say.
const DefaultMaxBody = 10 << 20

// JSONOnly refuses a POST whose Content-Type is not application/json with 415.
// A form or text/plain is what a web page can post without a preflight.
func JSONOnly() Check {
	return func(x *Exchange) *Denial {
		if x.R.Method == http.MethodPost && !isJSON(x.R.Header["Content-Type"]) {
			return notJSON()
		}
		return nil
	}
}

// JSONBody is [JSONOnly] for every method, but lets a request without a body
// and without a Content-Type pass.
func JSONBody() Check {
	return func(x *Exchange) *Denial {
		types := x.R.Header["Content-Type"]
		if x.R.ContentLength == 0 && len(types) == 0 || isJSON(types) {
			return nil
		}
		return notJSON()
	}
}

func notJSON() *Denial {
	return &Denial{
		Status:  http.StatusUnsupportedMediaType,
		Code:    "unsupported_media_type",
		Message: "The body of this request is not declared as JSON.",
		Hint:    "Send the header Content-Type: application/json.",
	}
}

func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" { // nearly always; parsing allocates
		return true
	}
	t, _, err := mime.ParseMediaType(types[0])
	return (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && strings.EqualFold(t, "application/json")
}

// MaxBody refuses bodies over the policy's MaxBody with 413. A declared length
// is refused unread. Of a chunked body the handler reads up to the limit and
// then gets an *http.MaxBytesError; if it has not answered by then, whatever
// it writes, or that it writes nothing, is replaced by the 413.
func MaxBody() Check {
	return func(x *Exchange) *Denial {
		limit := x.Policy.MaxBody
		if limit <= 0 {
			limit = DefaultMaxBody
		}
		switch length := x.R.ContentLength; {
		case length > limit:
			return tooLarge(limit)
		case length >= 0:
			return nil // net/http reads no further than the declared length
		}
		lw := &limitedWriter{ResponseWriter: x.W, request: x.R, limit: limit, deny: x.deny} // with the unlimited body
		body := &limitedBody{ReadCloser: http.MaxBytesReader(x.W, x.R.Body, limit), over: &lw.over}
		r := *x.R // the caller keeps its own Body
		r.Body = body
		x.W, x.R, x.after = lw, &r, lw.finish
		return nil
	}
}

func tooLarge(limit int64) *Denial {
	return &Denial{
		Status:  http.StatusRequestEntityTooLarge,
		Code:    "body_too_large",
		Message: "The body of this request is larger than server.max_body allows (" + strconv.FormatInt(limit, 10) + " bytes).",
		Hint:    "Send less, or raise server.max_body in config.yml.",
	}
}

// limitedBody notes when the limit was hit.
type limitedBody struct {
	io.ReadCloser
	over *bool
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		*b.over = true
	}
	return n, err
}

// limitedWriter turns the handler's answer into the 413 once the limit was
// hit. Like every ResponseWriter it belongs to one goroutine, the one that
// reads the body.
type limitedWriter struct {
	http.ResponseWriter
	request *http.Request
	limit   int64
	deny    Deny
	over    bool // the body was larger than allowed
	begun   bool // a status has been sent
	refused bool // that status was the 413
}

func (w *limitedWriter) WriteHeader(status int) {
	if w.begun {
		if !w.refused {
			w.ResponseWriter.WriteHeader(status) // let net/http complain
		}
		return
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.begun = true
	if w.over {
		w.refused = true
		w.deny(w.ResponseWriter, w.request, tooLarge(w.limit))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// finish answers for a handler that returned without a word.
func (w *limitedWriter) finish() {
	if w.over && !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.refused {
		drain(w.ResponseWriter, w.request)
	}
}

// Flush implements http.Flusher.
func (w *limitedWriter) Flush() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var _ http.Flusher = (*limitedWriter)(nil)
