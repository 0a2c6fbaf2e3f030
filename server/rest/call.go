package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
)

// call is one request that has passed the guard, on its way through its handler.
type call struct {
	*api
	w     http.ResponseWriter
	r     *http.Request
	query values
}

func (c *call) ctx() context.Context { return c.r.Context() }

// path returns a parameter of the path.
func (c *call) path(name string) (string, error) {
	v := chi.URLParam(c.r, name)
	if c.r.URL.RawPath == "" { // chi matches the raw path when there is one, and the decoded one otherwise
		return v, nil
	}
	decoded, err := url.PathUnescape(v)
	if err != nil {
		return "", badRequest("", "the path cannot be read: %v", err)
	}
	return decoded, nil
}

// key returns the chat that the path names.
func (c *call) key() (session.Key, error) {
	v, err := c.path("key")
	if err != nil {
		return session.Key{}, err
	}
	return session.Parse(v)
}

// write answers with 200.
func (c *call) write(v any) error { return writeJSON(c.w, http.StatusOK, v) }

// fail answers with an error. A client that has left gets nothing; one that the stopping program cuts off is told so.
func (c *call) fail(err error) {
	if cause := context.Cause(c.ctx()); cause != nil && errors.Is(err, cause) {
		if errors.Is(cause, context.Canceled) {
			return
		}
		err = &app.Error{Code: app.CodeUnavailable, Message: "the request was ended: " + cause.Error(), Hint: "what had begun is recorded; look again after a restart", Err: err}
	}
	e := app.AsError(err)
	if e.Code == app.CodeInternal {
		c.log.Error("request of the local API failed", "method", c.r.Method, "route", c.r.Pattern, "err", err)
	}
	writeError(c.w, e)
}
