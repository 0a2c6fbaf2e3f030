package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ionclaw-tray/app"
)

// example puts values into the parameters of a path.
func example(path string) string {
	return Base + strings.NewReplacer("{name}", "main", "{key}", "cli:11111111-2222-3333-4444-555555555555", "{id}", "t").Replace(path)
}

// The core of these tests panics when it is called: a request that should be refused and is not fails the test.

func TestTokenOnEveryRoute(t *testing.T) {
	w := serveCore(t, newMute())
	for _, rt := range w.api.table {
		for name, value := range map[string][]string{
			"absent": nil, "wrong": {"Bearer wrong"}, "empty": {"Bearer "}, "prefix": {"Bearer " + testToken[:5]},
			"longer": {"Bearer " + testToken + "x"}, "other scheme": {"Basic " + testToken}, "bare": {testToken}, "twice": {"Bearer x", "Bearer " + testToken},
		} {
			got := w.do(rt.method, example(rt.path), "", func(r *http.Request) { r.Header["Authorization"] = value })
			if rt.open {
				if got.code != 200 || strings.TrimSpace(got.body) != `{"status":"ok"}` {
					t.Errorf("%s %s, token %s: got %d %s, want 200 and the status alone", rt.method, rt.path, name, got.code, got.body)
				}
				continue
			}
			e := got.problem(t)
			if got.code != 401 || e.Code != app.CodeUnauthorized || !strings.Contains(e.Hint, "instance.json") || got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s, token %s: got %d %v, want 401 with a challenge and the remedy", rt.method, rt.path, name, got.code, e)
			}
		}
	}
}

func TestOnlyHealthIsOpen(t *testing.T) {
	for _, rt := range newAPI(newMute(), testToken, nil).table {
		if rt.open != (rt.path == "/health") {
			t.Errorf("%s %s: open is %v", rt.method, rt.path, rt.open)
		}
	}
}

func TestNoTokenOpensNothing(t *testing.T) {
	h := New(newMute(), "", nil)
	for _, value := range []string{"", "Bearer ", "Bearer x"} {
		r := httptest.NewRequest("GET", "http://127.0.0.1/api/status", nil)
		r.Header.Set("Authorization", value)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != 503 {
			t.Errorf("token %q: got %d %s, want 503", value, rec.Code, rec.Body)
		}
	}
}

func TestHostileHostAndOriginOnEveryRoute(t *testing.T) {
	core := newMute()
	core.cfg.Channels.MCP.RequireAuth = true // changes nothing here
	w := serveCore(t, core)
	for _, rt := range append(w.api.table, route{method: "GET", path: "/nothing"}, route{method: "TRACE", path: "/status"}) {
		for _, edit := range []struct {
			name string
			do   func(*http.Request)
		}{
			{"host", func(r *http.Request) { r.Host = "evil.example" }},
			{"host with a port", func(r *http.Request) { r.Host = "evil.example:8080" }},
			{"host that begins well", func(r *http.Request) { r.Host = "localhost.evil.example" }},
			{"origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
			{"origin null", func(r *http.Request) { r.Header.Set("Origin", "null") }},
			{"two origins", func(r *http.Request) { r.Header["Origin"] = []string{"http://localhost", "https://evil.example"} }},
		} {
			got := w.do(rt.method, example(rt.path), "", edit.do)
			if e := got.problem(t); got.code != 403 || e.Code != app.CodeForbidden {
				t.Errorf("%s %s, %s: got %d %v, want 403 forbidden", rt.method, rt.path, edit.name, got.code, e)
			}
			if got := got.header.Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("%s %s, %s: the origin %q may read the answer", rt.method, rt.path, edit.name, got)
			}
		}
	}
}

func TestTrustedHostAndLocalPage(t *testing.T) {
	core := newMute()
	core.cfg.Server.TrustedHosts = []string{"box.example"}
	w := serveCore(t, core)
	if got := w.do("GET", "/api/health", "", func(r *http.Request) { r.Host = "box.example" }); got.code != 200 {
		t.Errorf("trusted host: got %d %s, want 200", got.code, got.body)
	}
	local := func(r *http.Request) { r.Header.Set("Origin", "http://localhost:5173") }
	if got := w.do("OPTIONS", "/api/sessions/x", "", local); got.code != 204 || !strings.Contains(got.header.Get("Access-Control-Allow-Methods"), "PATCH") {
		t.Errorf("preflight of a page on this machine: got %d %v, want 204 with PATCH", got.code, got.header)
	}
	if got := w.do("GET", "/api/status", "", local, func(r *http.Request) { r.Header.Del("Authorization") }); got.code != 401 {
		t.Errorf("page on this machine without token: got %d, want 401", got.code)
	}
}
