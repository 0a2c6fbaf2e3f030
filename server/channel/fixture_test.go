package channel

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/model/modeltest"
)

// endpoint is the whole program behind one test server: real core, real store, scripted model.
type endpoint struct {
	app     *app.App
	channel *Channel
	models  *modeltest.Server
	url     string
	paths   app.Paths
}

// open starts an endpoint on a folder, with what yaml adds to the configuration. MODEL stands for the model server.
func open(t *testing.T, dir, yaml string) *endpoint {
	t.Helper()
	keyring.MockInit()
	e := &endpoint{models: modeltest.New(t), paths: app.DefaultPaths(filepath.Join(dir, "config.yml"), dir)}
	if _, err := os.Stat(e.paths.Config); err != nil {
		text := strings.ReplaceAll(yaml, "MODEL", e.models.OpenAIURL())
		if err := os.WriteFile(e.paths.Config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := config.Open(e.paths.Config)
	if err != nil {
		t.Fatal(err)
	}
	if e.app, err = app.Open(t.Context(), app.Options{Paths: e.paths, Config: file, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	e.url = "http://" + srv.Listener.Addr().String()
	e.channel = New(e.app, func() string { return e.url })
	e.app.SetChannel(e.channel)
	srv.Config.Handler = e.channel
	srv.Start()
	t.Cleanup(func() {
		e.channel.Close()
		srv.CloseClientConnections()
		srv.Close()
		if err := e.app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// offline is a configuration that needs no model server.
const offline = "agents: {main: {description: Everything, tools: [clock]}}\n"

// scripted has one agent on the model server.
const scripted = `
providers: {test: {base_url: "MODEL", type: openai}}
agents: {main: {description: Everything, model: test/m, tools: ["*"]}}
`

func (e *endpoint) start(t *testing.T) {
	t.Helper()
	if err := e.app.StartMCP(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// reply is an HTTP answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a JSON-RPC message; headers come in pairs.
func (e *endpoint) post(t *testing.T, body string, headers ...string) reply {
	t.Helper()
	return e.send(t, http.MethodPost, body, headers...)
}

func (e *endpoint) send(t *testing.T, method, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, e.url+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(raw)}
}

// initialize begins a session by hand and returns its id.
func (e *endpoint) initialize(t *testing.T, headers ...string) string {
	t.Helper()
	r := e.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, headers...)
	id := r.header.Get("Mcp-Session-Id")
	if r.status != 200 || id == "" {
		t.Fatalf("initialize: got %d, session %q: %s", r.status, id, r.body)
	}
	return id
}

// call calls a tool as one JSON answer and returns its result.
func (e *endpoint) call(t *testing.T, session, tool, args string) toolResult {
	t.Helper()
	r := e.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`, "Mcp-Session-Id", session)
	var out struct {
		Result *toolResult     `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || out.Result == nil {
		t.Fatalf("%s %s: got %d %s", tool, args, r.status, r.body)
	}
	return *out.Result
}

type toolResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	Meta       map[string]any  `json:"_meta"`
}

func (r toolResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// field reads one member of the structured result.
func (r toolResult) field(t *testing.T, name string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.Structured, &m); err != nil {
		t.Fatalf("structured content %s: %v", r.Structured, err)
	}
	s, _ := m[name].(string)
	return s
}
