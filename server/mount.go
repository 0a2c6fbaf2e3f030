package server

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"ionclaw-tray/server/channel"
	"ionclaw-tray/server/guard"
)

// MCPPath is the path of the MCP endpoint below the base address.
const MCPPath = channel.Path

// Mount makes the table of paths. mcp gets every method of /mcp, api every
// method of /api and of all below it; both see the whole path and guard
// themselves. A nil api is an empty one. Everything else is a 404 with a JSON
// body, among it the places where MCP clients look for an OAuth server after a
// 401: an HTML page there makes them fail in ways nobody understands.
//
// A panic in a handler is logged with its stack and answered with 500; if the
// answer had begun already the connection is cut, so that no client takes half
// an answer for a whole one.
func Mount(mcp, api http.Handler, log *slog.Logger) http.Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	missing := http.HandlerFunc(notFound)
	if api == nil {
		api = missing
	}
	r := chi.NewRouter()
	r.Use(recovering(log))
	r.Handle(MCPPath, mcp)
	r.Handle("/api", api)
	r.Handle("/api/*", api)
	for _, path := range []string{"/.well-known", "/.well-known/*", "/register", "/authorize", "/token"} {
		r.Handle(path, missing)
	}
	r.NotFound(missing)
	// chi knows the usual methods only and asks here about all others.
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		switch path := req.URL.Path; {
		case path == MCPPath:
			mcp.ServeHTTP(w, req)
		case path == "/api" || len(path) > 4 && path[:5] == "/api/":
			api.ServeHTTP(w, req)
		default:
			notFound(w, req)
		}
	})
	return r
}

func notFound(w http.ResponseWriter, r *http.Request) {
	guard.DenyAPI(w, r, &guard.Denial{
		Status:  http.StatusNotFound,
		Code:    "not_found",
		Message: "There is nothing at this path.",
		Hint:    "The MCP endpoint is " + MCPPath + "; its access control is a bearer token, not OAuth.",
	})
}
