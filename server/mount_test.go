package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// named answers with its name, the method and the path it was given.
func named(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name+" "+r.Method+" "+r.URL.Path)
	})
}

func TestMount(t *testing.T) {
	h := Mount(named("mcp"), named("api"), nil)
	const missing = "404"
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X"} {
		for path, want := range map[string]string{
			"/mcp":                                "mcp",
			"/api":                                "api",
			"/api/":                               "api",
			"/api/sessions":                       "api",
			"/api/sessions/mcp:0e0b7a3c/messages": "api",

			"/": missing, "/mcp/": missing, "/mcp/x": missing, "/mcpx": missing, "/MCP": missing, "//mcp": missing,
			"/apix": missing, "/x/../mcp": missing, "/sse": missing, "/favicon.ico": missing,
			"/.well-known/oauth-protected-resource":       missing,
			"/.well-known/oauth-protected-resource/mcp":   missing,
			"/.well-known/oauth-authorization-server":     missing,
			"/.well-known/oauth-authorization-server/mcp": missing,
			"/.well-known/openid-configuration":           missing,
			"/.well-known":                                missing,
			"/.well-known/":                               missing,
			"/mcp/.well-known/openid-configuration":       missing,
			"/register":                                   missing,
			"/authorize":                                  missing,
			"/token":                                      missing,
		} {
			r := httptest.NewRequest(method, "http://127.0.0.1"+path, nil)
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if want != missing {
				if got := rec.Body.String(); rec.Code != 200 || got != want+" "+method+" "+path {
					t.Errorf("%s %s: got %d %q, want %s with the whole path", method, path, rec.Code, got, want)
				}
				continue
			}
			var body struct {
				Error struct{ Code, Message, Hint string }
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil || rec.Code != 404 ||
				rec.Header().Get("Content-Type") != "application/json" || body.Error.Code != "not_found" {
				t.Errorf("%s %s: got %d %s %s, want a 404 with the error as JSON (%v)",
					method, path, rec.Code, rec.Header().Get("Content-Type"), rec.Body, err)
			}
		}
	}
}

func TestMountWithoutAPI(t *testing.T) {
	rec := httptest.NewRecorder()
	Mount(named("mcp"), nil, nil).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/status", nil))
	if rec.Code != 404 {
		t.Errorf("got %d, want 404", rec.Code)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("index out of range: secret-detail") })
	for path, prefix := range map[string]string{
		"/mcp":        `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,`,
		"/api/status": `{"error":{"code":"internal_error",`,
	} {
		var log bytes.Buffer
		rec := httptest.NewRecorder()
		Mount(broken, broken, slog.New(slog.NewJSONHandler(&log, nil))).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, nil))
		body := rec.Body.String()
		if rec.Code != 500 || !strings.HasPrefix(body, prefix) || strings.Contains(body, "secret-detail") {
			t.Errorf("%s: got %d %s, want 500 with a generic %s", path, rec.Code, body, prefix)
		}
		var entry struct {
			ID    string `json:"correlation_id"`
			Panic string
			Stack string
		}
		if err := json.Unmarshal(log.Bytes(), &entry); err != nil {
			t.Fatalf("%s: the log is %q: %v", path, log.String(), err)
		}
		if entry.ID == "" || !strings.Contains(body, entry.ID) || !strings.Contains(entry.Panic, "secret-detail") ||
			!strings.Contains(entry.Stack, "mount_test.go") {
			t.Errorf("%s: answer %s and log %s do not belong together", path, body, log.String())
		}
	}
}

// Half an answer must not look like a whole one.
func TestPanicAfterTheAnswerBeganCutsTheConnection(t *testing.T) {
	for name, begin := range map[string]func(w http.ResponseWriter){
		"written": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "part") },
		"flushed": func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
		"flushed through the controller": func(w http.ResponseWriter) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(Mount(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				begin(w)
				panic("late")
			}), nil, nil))
			defer srv.Close()
			resp, err := srv.Client().Get(srv.URL + "/mcp")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil {
				t.Error("the client saw a proper end")
			}
		})
	}
}

func TestAbortHandlerPassesThrough(t *testing.T) {
	defer func() {
		if v, ok := recover().(error); !ok || !errors.Is(v, http.ErrAbortHandler) {
			t.Errorf("recovered %v, want http.ErrAbortHandler", v)
		}
	}()
	Mount(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil, nil).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/mcp", nil))
}
