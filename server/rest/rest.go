// Package rest is the local API: what the command line, scripts and tests of the same user call under /api.
//
// Data goes one way. A request passes the guard (Host, Origin, token, size), is read strictly against its row of the
// table in routes.go, becomes one call of the core, and the core's answer is written as JSON. What happens over time
// comes back as server-sent events: the course of one turn, or everything that the core publishes. The package keeps
// no state of its own, and the OpenAPI document is made from the same table as the routes.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
)

// Base is where the API lives. The handler of New expects whole paths, so it can be mounted there as it is.
const Base = "/api"

// Limits of the API. Those of lists are in package store, that of bodies is server.max_body.
const (
	// MaxMessages is how many messages of a chat one answer holds at most. Each may be long.
	MaxMessages = 1000
	// MaxEventStreams is how many event streams can be open at a time.
	MaxEventStreams = 64
	// KeepAlive is how often a silent stream shows that it is alive.
	KeepAlive = 15 * time.Second
	// BodyWait is how long a body may take to arrive.
	BodyWait = 30 * time.Second
	// streamGrace is how long a stream may still write when its request has ended, to end in an orderly way.
	streamGrace = time.Second
)

// api answers requests. Safe for concurrent use.
type api struct {
	core  Core
	log   *slog.Logger
	mux   *chi.Mux
	guard guards
	table []route
	doc   func() []byte // the OpenAPI document, made when it is first asked for

	keepAlive time.Duration
	bodyWait  time.Duration
	streams   chan struct{} // holds one token for each open event stream
}

// New makes the handler of everything under Base. token opens it and is that of this run of the program; an empty one
// opens nothing. A nil log discards.
func New(core Core, token string, log *slog.Logger) http.Handler { return newAPI(core, token, log) }

func newAPI(core Core, token string, log *slog.Logger) *api {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &api{
		core: core, log: log, guard: newGuards(core.Config, token),
		keepAlive: KeepAlive, bodyWait: BodyWait, streams: make(chan struct{}, MaxEventStreams),
	}
	a.table = a.routes()
	a.doc = sync.OnceValue(func() []byte { return openAPI(a.table, core.Version()) })
	a.mux = a.router()
	return a
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A router around this one leaves its own place in the path behind. Paths are matched whole here.
	ctx := context.WithValue(r.Context(), chi.RouteCtxKey, (*chi.Context)(nil))
	a.mux.ServeHTTP(w, r.WithContext(ctx))
}
