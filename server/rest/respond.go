package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"ionclaw-tray/app"
)

// outcome is the answer of what has nothing else to tell.
type outcome struct {
	Status string `json:"status"`
}

// done makes an outcome from what a method of the core reported.
func done(yes bool, ifYes, ifNot string) outcome {
	if yes {
		return outcome{ifYes}
	}
	return outcome{ifNot}
}

// problem is the form of every error.
type problem struct {
	Error problemText `json:"error"`
}

type problemText struct {
	Code    app.Code `json:"code"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
}

func writeError(w http.ResponseWriter, e *app.Error) {
	// Strings only: cannot fail.
	_ = writeJSON(w, e.Code.HTTPStatus(), problem{problemText{e.Code, e.Message, e.Hint}})
}

// writeJSON sends a whole answer. The error means that nothing was sent; a client that has left is none.
func writeJSON(w http.ResponseWriter, code int, v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	data = append(data, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "no-store") // the state of this moment, and keys among it
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(data)
	return nil
}

// encode returns JSON on one line, with <, > and & as they are: people read it in terminals.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// list makes a missing list an empty one.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func badRequest(hint, format string, args ...any) *app.Error {
	return &app.Error{Code: app.CodeBadRequest, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// maxShown bounds how much of what was sent an error repeats, in bytes.
const maxShown = 40

// shown quotes what was sent, cut.
func shown(s string) string {
	if len(s) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}
