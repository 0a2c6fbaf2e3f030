package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"ionclaw-tray/app"
)

// noBody refuses what a route without a body would ignore. An empty object is as good as nothing.
func (c *call) noBody() error {
	data, err := c.read()
	if err != nil || len(data) == 0 {
		return err
	}
	return unmarshal(data, &struct{}{})
}

// decode reads the body as one JSON object of the shape B.
func decode[B any](c *call) (B, error) {
	var v B
	data, err := c.read()
	if err != nil {
		return v, err
	}
	if len(data) == 0 {
		return v, badRequest(fieldsHint(reflect.TypeFor[B]()), "the body is empty; it must be a JSON object")
	}
	return v, unmarshal(data, &v)
}

// read returns the whole body without white space around it. Its size is bounded by the guard.
func (c *call) read() ([]byte, error) {
	if c.r.ContentLength == 0 {
		return nil, nil
	}
	conn := http.NewResponseController(c.w)
	if err := conn.SetReadDeadline(time.Now().Add(c.bodyWait)); err == nil {
		// A deadline that outlived the body would end the request while it is being answered.
		defer conn.SetReadDeadline(time.Time{}) //nolint:errcheck // it could be set, so it can be unset
	}
	data, err := io.ReadAll(c.r.Body)
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, &app.Error{Code: app.CodeTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", tooBig.Limit), Hint: "raise server.max_body in config.yml, or send less"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close") // what is still to come must not be taken for a request
		return nil, badRequest("send it at once", "the body did not arrive within %s", c.bodyWait)
	case err != nil && c.ctx().Err() != nil:
		return nil, c.ctx().Err()
	case err != nil:
		return nil, badRequest("", "the body cannot be read: %v", err)
	}
	return bytes.TrimSpace(data), nil
}

// unmarshal is strict: one object, UTF-8, known fields only. v is a pointer to a struct.
func unmarshal(data []byte, v any) error {
	hint := fieldsHint(reflect.TypeOf(v).Elem())
	if !utf8.Valid(data) {
		return badRequest("", "the body is not UTF-8")
	}
	if data[0] != '{' {
		return badRequest(hint, "the body must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return bodyError(err, hint)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("", "the body must be one JSON object, with nothing behind it")
	}
	return nil
}

func bodyError(err error, hint string) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		what, _, _ := strings.Cut(kind.Value, " ") // of a number only that it is one
		return badRequest("", "%s: must be %s, not %s", kind.Field, kindName(kind.Type), what)
	}
	if errors.As(err, &syntax) {
		return badRequest("", "the body is not valid JSON: %v (at byte %d)", syntax, syntax.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return badRequest("", "the body is not valid JSON: it ends too early")
	}
	// What is left is an unknown field, for which encoding/json has no type.
	return badRequest(hint, "the body has an %s", strings.TrimPrefix(err.Error(), "json: "))
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// fieldsHint names the fields of a body.
func fieldsHint(t reflect.Type) string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	if len(names) == 0 {
		return "send no body here"
	}
	return "its fields are: " + strings.Join(names, ", ")
}
