package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"ionclaw-tray/app"
)

func TestUnknownPathAndMethod(t *testing.T) {
	w := serveCore(t, newMute())
	for _, path := range []string{"/api", "/api/", "/api/nothing", "/api/health/", "/api/agents/", "/api/agents/a/b", "/api//health", "/api/sessions/a/messages/b", "/api/%68ealth"} {
		w.fails("GET", path, "", app.CodeNotFound, "openapi.json")
	}
	for _, tc := range []struct{ method, path, allow string }{
		{"POST", "/api/health", "GET"},
		{"HEAD", "/api/status", "GET"},
		{"PATCH", "/api/agents/main", "GET, PUT, DELETE"},
		{"PUT", "/api/sessions/x", "GET, PATCH, DELETE"},
		{"GET", "/api/sessions/x/messages", "POST"},
		{"GET", "/api/credentials/x/reveal", "POST"},
		{"BREW", "/api/tasks", "GET"},
		{"TRACE", "/api/channels/mcp", "GET, PUT"},
	} {
		got := w.do(tc.method, tc.path, "")
		if got.code != 405 || got.header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: got %d with Allow %q, want 405 with %q", tc.method, tc.path, got.code, got.header.Get("Allow"), tc.allow)
		}
		if e := app.CodeMethod; tc.method != "HEAD" && got.problem(t).Code != e {
			t.Errorf("%s %s: got %s, want code %s", tc.method, tc.path, got.body, e)
		}
	}
	w.fails("BREW", "/api/nothing", "", app.CodeNotFound)
	bare := func(r *http.Request) { r.Header.Del("Authorization") }
	if got := w.do("GET", "/api/nothing", "", bare); got.code != 401 {
		t.Errorf("a stranger at a path that does not exist: got %d, want 401", got.code)
	}
}

// The handler works wherever a router puts it, as long as paths are whole.
func TestBelowAnotherRouter(t *testing.T) {
	h := New(newMute(), testToken, nil)
	handled, mounted := chi.NewRouter(), chi.NewRouter()
	handled.Handle("/api/*", h)
	mounted.Mount("/api", h)
	for name, outer := range map[string]http.Handler{"Handle": handled, "Mount": mounted} {
		for path, want := range map[string]int{"/api/health": 200, "/api/nothing": 401} {
			rec := httptest.NewRecorder()
			outer.ServeHTTP(rec, httptest.NewRequest("GET", "http://localhost"+path, nil))
			if rec.Code != want {
				t.Errorf("%s %s: got %d %s, want %d", name, path, rec.Code, rec.Body, want)
			}
		}
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	core := newMute()
	core.cfg.Server.MaxBody = 300
	w := serveCore(t, core)
	big := `{"x":"` + strings.Repeat("y", 300) + `"}`
	for _, rt := range w.api.table {
		path := example(rt.path)
		if rt.open {
			continue
		}
		w.fails(rt.method, path, `{"nonsense":1}`, app.CodeBadRequest, `unknown field "nonsense"`)
		w.fails(rt.method, path, `[]`, app.CodeBadRequest, "must be a JSON object")
		w.fails(rt.method, path, `null`, app.CodeBadRequest, "must be a JSON object")
		w.fails(rt.method, path, `{`, app.CodeBadRequest, "ends too early")
		w.fails(rt.method, path, `{"a" 1}`, app.CodeBadRequest, "not valid JSON", "byte")
		w.fails(rt.method, path, "{\"\xff\":1}", app.CodeBadRequest, "UTF-8")
		w.fails(rt.method, path, big, app.CodeTooLarge, "300", "server.max_body")
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			got := w.do(rt.method, path, `{}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) })
			if e := got.problem(t); got.code != 415 || e.Code != app.CodeUnsupportedType {
				t.Errorf("%s %s with type %q: got %d %v, want 415", rt.method, path, kind, got.code, e)
			}
		}
		chunked := w.do(rt.method, path, "x", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(big)), -1 })
		if e := chunked.problem(t); chunked.code != 413 || e.Code != app.CodeTooLarge {
			t.Errorf("%s %s, large and of unknown length: got %d %v, want 413", rt.method, path, chunked.code, e)
		}
		if rt.body == nil {
			w.fails(rt.method, path, `{} {}`, app.CodeBadRequest, "nothing behind it")
			continue
		}
		w.fails(rt.method, path, "", app.CodeBadRequest, "body is empty", "its fields are")
		w.fails(rt.method, path, "  \n", app.CodeBadRequest, "body is empty")
	}
}

func TestQueriesAreReadStrictly(t *testing.T) {
	w := serveCore(t, newMute())
	for _, rt := range w.api.table {
		path := example(rt.path)
		w.fails(rt.method, path+"?nonsense=1", "", app.CodeBadRequest, `unknown parameter "nonsense"`)
		w.fails(rt.method, path+"?%zz", "", app.CodeBadRequest, "query")
		for _, p := range rt.query {
			at := path + "?" + p.name + "="
			w.fails(rt.method, at+"1&"+p.name+"=1", "", app.CodeBadRequest, p.name, "2 times")
			if !p.number() {
				w.fails(rt.method, at+strings.Repeat("x", p.limit()+1), "", app.CodeBadRequest, p.name)
				w.fails(rt.method, at+"%ff", "", app.CodeBadRequest, p.name, "UTF-8")
				continue
			}
			for _, bad := range []string{"", "0", "-1", "x", "1.5", "1e3", "99999999999999999999", "9223372036854775808", "+1", "%201"} {
				w.fails(rt.method, at+bad, "", app.CodeBadRequest, p.name, "from 1 to")
			}
		}
	}
}

func TestDocumentHasExactlyTheRoutes(t *testing.T) {
	a := newAPI(newMute(), testToken, nil)
	var routed, described []string
	err := chi.Walk(a.mux, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed = append(routed, method+" "+path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var d openDocument
	if err := json.Unmarshal(a.doc(), &d); err != nil {
		t.Fatal(err)
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			described = append(described, strings.ToUpper(method)+" "+path)
			if op.Summary == "" || op.Responses["200"] == nil || op.Responses["default"] == nil {
				t.Errorf("%s %s: got %+v, want a summary and both answers", method, path, op)
			}
			for _, p := range op.Parameters {
				if inPath := strings.Contains(path, "{"+p.Name+"}"); inPath != (p.In == "path") || inPath != p.Required {
					t.Errorf("%s %s: parameter %+v does not fit the path", method, path, p)
				}
			}
			if got, want := strings.Count(path, "{"), countIn(op.Parameters, "path"); got != want {
				t.Errorf("%s %s: %d parameters of the path are described, want %d", method, path, want, got)
			}
		}
	}
	slices.Sort(routed)
	slices.Sort(described)
	if !slices.Equal(routed, described) {
		t.Errorf("routes\n%s\nare described as\n%s", strings.Join(routed, "\n"), strings.Join(described, "\n"))
	}
	if len(routed) != len(a.table) {
		t.Errorf("got %d routes for %d rows of the table", len(routed), len(a.table))
	}
}

func countIn(params []openParameter, in string) int {
	n := 0
	for _, p := range params {
		if p.In == in {
			n++
		}
	}
	return n
}

func TestDocumentIsServed(t *testing.T) {
	w := serveCore(t, newMute())
	var d openDocument
	w.ok("GET", "/api/openapi.json", "", &d)
	if d.OpenAPI != "3.1.1" || d.Info.Version != "1.2.3" {
		t.Errorf("got OpenAPI %q of version %q, want 3.1.1 of 1.2.3", d.OpenAPI, d.Info.Version)
	}
	health, status := d.Paths["/api/health"]["get"], d.Paths["/api/status"]["get"]
	if health.Security == nil || len(*health.Security) != 0 || status.Security != nil {
		t.Errorf("security: got %v for health and %v for status, want none and the default", health.Security, status.Security)
	}
	settings := d.Components.Schemas["MCPSettings"]
	if settings == nil || len(settings.Required) != 0 {
		t.Errorf("MCPSettings: got %v, want a body whose fields may all be absent", settings)
	}
	if got := d.Paths["/api/events"]["get"].Events["task.changed"]; got == nil || got.Ref != "#/components/schemas/TaskChanged" {
		t.Errorf("event task.changed: got %v, want its shape", got)
	}
}
