package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

const testToken = "the-token-of-this-run"

// instance writes an instance file that leads to base.
func instance(t *testing.T, base string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "instance.json")
	if err := app.WriteInstance(path, app.Instance{PID: 1, BaseURL: base, Token: testToken, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return path
}

// program serves the routes behind the check of the token, with the answer that tells a living program.
func program(t *testing.T, routes map[string]http.HandlerFunc) *Client {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/channels/mcp", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"name":"mcp"}`) })
	for pattern, h := range routes {
		mux.HandleFunc(pattern, h)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+testToken {
			t.Errorf("Authorization = %q", got)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	c, err := Connect(t.Context(), instance(t, srv.URL))
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	return c
}

func code(err error) app.Code {
	if err == nil {
		return ""
	}
	return app.AsError(err).Code
}

func TestConnectFindsNoProgram(t *testing.T) {
	answering := func(h http.HandlerFunc) func(*testing.T) string {
		return func(t *testing.T) string {
			srv := httptest.NewServer(h)
			t.Cleanup(srv.Close)
			return instance(t, srv.URL)
		}
	}
	for name, file := range map[string]func(*testing.T) string{
		"no file": func(t *testing.T) string { return filepath.Join(t.TempDir(), "instance.json") },
		"half a file": func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "instance.json")
			if err := os.WriteFile(path, []byte(`{"pid":1,`), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"killed, nobody has its port": func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return instance(t, "http://"+l.Addr().String())
		},
		"killed, another IonClaw has its port": answering(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"code":"unauthorized","message":"wrong token"}}`)
		}),
		"killed, a web site has its port": answering(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }),
		"killed, another API has its port": answering(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"name":"something"}`)
		}),
		"killed, a redirect is at its port": answering(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}),
		"killed, what has its port hangs up": answering(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"address of another machine":         func(t *testing.T) string { return instance(t, "http://192.0.2.1:8080") },
		"address with a name":                func(t *testing.T) string { return instance(t, "http://example.com:8080") },
		"another scheme":                     func(t *testing.T) string { return instance(t, "https://127.0.0.1:8080") },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Connect(t.Context(), file(t))
			if got := code(err); got != app.CodeNotRunning {
				t.Fatalf("code = %q, want %q (%v)", got, app.CodeNotRunning, err)
			}
			if e := app.AsError(err); e.Hint == "" || strings.Contains(e.Error(), testToken) {
				t.Errorf("message %q needs a hint and no token", e.Error())
			}
		})
	}
}

func TestConnectToAProgramThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts for a process that does not
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = connect(t.Context(), instance(t, "http://"+l.Addr().String()), time.Millisecond)
	if got := code(err); got != app.CodeUnavailable {
		t.Errorf("code = %q, want %q (%v)", got, app.CodeUnavailable, err)
	}
}

func TestConnectIsCancelled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	want := errors.New("enough")
	cancel(want)
	if _, err = Connect(ctx, instance(t, "http://"+l.Addr().String())); !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func TestNoProxy(t *testing.T) {
	c := program(t, nil)
	if c.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the environment's proxy would be used")
	}
}

func TestRefusalsKeepTheirWords(t *testing.T) {
	c := program(t, map[string]http.HandlerFunc{
		"POST /api/channels/mcp/start": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"error":{"code":"no_credential","message":"no token","hint":"make one"}}`)
		},
	})
	err := c.StartMCP(t.Context())
	e := app.AsError(err)
	if e.Code != app.CodeNoCredential || e.Message != "no token" || e.Hint != "make one" {
		t.Errorf("got %+v", e)
	}
}

func TestCallsAskForWhatTheyWere(t *testing.T) {
	key := session.Key{Channel: "cli", ID: "11111111-2222-3333-4444-555555555555"}
	for _, tt := range []struct {
		want string // method, path and query, body
		call func(*Client) error
	}{
		{"GET /api/sessions?channel=mcp&cursor=c+1&limit=3&query=a%26b", func(c *Client) error {
			_, err := c.Sessions(t.Context(), store.SessionQuery{Limit: 3, Cursor: "c 1", Channel: "mcp", Query: "a&b"})
			return err
		}},
		{"GET /api/sessions", func(c *Client) error { _, err := c.Sessions(t.Context(), store.SessionQuery{}); return err }},
		{"GET /api/sessions/" + key.String() + "?before=7", func(c *Client) error {
			_, err := c.Session(t.Context(), key, store.MessageQuery{Before: 7})
			return err
		}},
		{`PATCH /api/sessions/` + key.String() + ` {"display_name":"new"}`, func(c *Client) error {
			_, err := c.RenameSession(t.Context(), key, "new")
			return err
		}},
		{"DELETE /api/sessions/" + key.String(), func(c *Client) error { _, err := c.DeleteSession(t.Context(), key); return err }},
		{"GET /api/tasks?agent=main&session_id=" + strings.Replace(key.String(), ":", "%3A", 1) + "&state=done", func(c *Client) error {
			_, err := c.Tasks(t.Context(), store.TaskQuery{State: task.Done, Agent: "main", Session: key})
			return err
		}},
		{"GET /api/tasks/a%2F..%2Fb", func(c *Client) error { _, err := c.Task(t.Context(), "a/../b"); return err }},
		{"POST /api/tasks/x/abort", func(c *Client) error { _, err := c.AbortTask(t.Context(), "x"); return err }},
		{"GET /api/agents", func(c *Client) error { _, err := c.Agents(t.Context()); return err }},
		{"GET /api/agents/a%20b", func(c *Client) error { _, err := c.Agent(t.Context(), "a b"); return err }},
		{"DELETE /api/agents/x", func(c *Client) error { return c.DeleteAgent(t.Context(), "x") }},
		{"GET /api/credentials", func(c *Client) error { _, err := c.Credentials(t.Context()); return err }},
		{"POST /api/credentials/x/generate", func(c *Client) error { return c.GenerateCredential(t.Context(), "x") }},
		{`PUT /api/credentials/x {"key":"k"}`, func(c *Client) error { return c.SetCredential(t.Context(), "x", "k") }},
		{"POST /api/credentials/x/reveal", func(c *Client) error { _, err := c.RevealCredential(t.Context(), "x"); return err }},
		{"DELETE /api/credentials/x", func(c *Client) error { return c.DeleteCredential(t.Context(), "x") }},
		{"GET /api/status", func(c *Client) error { _, err := c.Status(t.Context()); return err }},
		{"POST /api/channels/mcp/stop", func(c *Client) error { return c.StopMCP(t.Context()) }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			var got string
			c := program(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
				io.WriteString(w, "{}")
			}})
			if err := tt.call(c); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSessionShowsMessagesInPlaceOfTheirNumber(t *testing.T) {
	c := program(t, map[string]http.HandlerFunc{"GET /api/sessions/": func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"key":"cli:11111111-2222-3333-4444-555555555555","display_name":"x","messages":[{"seq":1,"role":"user","content":"hi","timestamp":"2026-01-02T03:04:05.678Z"}]}`)
	}})
	s, err := c.Session(t.Context(), session.NewKey("cli"), store.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Messages) != 1 || s.Messages[0].Content != "hi" || s.DisplayName != "x" {
		t.Errorf("got %+v", s)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"messages":[{`) || strings.Contains(string(data), `"messages":0`) {
		t.Errorf("encoded as %s", data)
	}
}
