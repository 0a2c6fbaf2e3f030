package rest

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
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/jsonschema-go/jsonschema"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/secret"
)

const testToken = "the-token-of-this-run"

const testConfig = `
server: {port: 0}
credentials:
  mcp_token: {type: simple}
agents:
  main: {description: Everything}
  coder: {description: Writes code, tools: [clock]}
`

// world is a whole program in temporary folders with its API on a real server.
type world struct {
	t       *testing.T
	app     *app.App
	api     *api
	url     string
	channel *fakeChannel
	keys    *memoryKeyring
	ended   chan struct{}           // one value for each request whose handler has returned
	stop    context.CancelCauseFunc // ends the context of all requests, as a stopping server does
	doc     documented
}

func newWorld(t *testing.T, yaml string) *world {
	t.Helper()
	dir := t.TempDir()
	paths := app.Paths{Config: filepath.Join(dir, "config.yml"), Data: dir, Log: filepath.Join(dir, "log"), Instance: filepath.Join(dir, "instance.json")}
	if err := os.WriteFile(paths.Config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Open(paths.Config)
	if err != nil {
		t.Fatal(err)
	}
	keys := &memoryKeyring{keys: map[string]string{}}
	a, err := app.Open(t.Context(), app.Options{Paths: paths, Config: file, Version: "1.2.3", Vault: secret.New(secret.Options{Keyring: keys})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	w := serveCore(t, a)
	w.app, w.keys, w.channel = a, keys, &fakeChannel{}
	a.SetChannel(w.channel)
	return w
}

// serveCore puts the API of any core on a server.
func serveCore(t *testing.T, core Core) *world {
	t.Helper()
	w := &world{t: t, api: newAPI(core, testToken, nil), ended: make(chan struct{}, 1024)}
	w.doc = readDocument(t, w.api)
	base, stop := context.WithCancelCause(context.Background())
	w.stop = stop
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.api.ServeHTTP(rw, r.WithContext(mergeCause(r.Context(), base)))
		w.ended <- struct{}{}
	}))
	srv.Start()
	t.Cleanup(func() {
		stop(errors.New("the test is over"))
		srv.Close()
	})
	w.url = srv.URL
	return w
}

// mergeCause ends a request's context with the cause of another one, as one that is derived from it would.
func mergeCause(ctx, base context.Context) context.Context {
	merged, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(base, func() { cancel(context.Cause(base)) })
	return merged
}

type answer struct {
	code   int
	header http.Header
	body   string
}

// request sends one request with the token; edit may change it.
func (w *world) request(ctx context.Context, method, path, body string, edit func(*http.Request)) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// do sends one request and checks that the answer has the documented shape.
func (w *world) do(method, path, body string, edit ...func(*http.Request)) answer {
	w.t.Helper()
	resp := w.request(w.t.Context(), method, path, body, func(r *http.Request) {
		for _, e := range edit {
			e(r)
		}
	})
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{resp.StatusCode, resp.Header, string(data)}
	w.doc.check(w.t, w.api, method, resp.Request.URL.EscapedPath(), a)
	return a
}

// ok sends one request that has to succeed and fills out from the answer.
func (w *world) ok(method, path, body string, out any) {
	w.t.Helper()
	a := w.do(method, path, body)
	if a.code != 200 {
		w.t.Fatalf("%s %s: got %d %s, want 200", method, path, a.code, a.body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(a.body), out); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
	}
}

// fails sends one request that has to be refused with a code and a text that holds all the words.
func (w *world) fails(method, path, body string, code app.Code, words ...string) {
	w.t.Helper()
	a := w.do(method, path, body)
	e := a.problem(w.t)
	if a.code != code.HTTPStatus() || e.Code != code {
		w.t.Errorf("%s %s %s: got %d %q, want %d %q: %s", method, path, body, a.code, e.Code, code.HTTPStatus(), code, a.body)
	}
	for _, word := range words {
		if !strings.Contains(e.Message+"; "+e.Hint, word) {
			w.t.Errorf("%s %s %s: got %q; %q, want it to say %q", method, path, body, e.Message, e.Hint, word)
		}
	}
}

func (a answer) problem(t *testing.T) problemText {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Error.Message == "" {
		t.Errorf("got %d %q, want an error in the API's form", a.code, a.body)
	}
	return p.Error
}

// documented are the answers that the OpenAPI document promises: pattern, method, status.
type documented map[string]map[string]map[string]*jsonschema.Resolved

func readDocument(t *testing.T, a *api) documented {
	t.Helper()
	var d openDocument
	if err := json.Unmarshal(a.doc(), &d); err != nil {
		t.Fatal(err)
	}
	resolved := map[string]*jsonschema.Resolved{}
	for name, s := range d.Components.Schemas {
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
		resolved["#/components/schemas/"+name] = r
	}
	out := documented{}
	for path, ops := range d.Paths {
		out[path] = map[string]map[string]*jsonschema.Resolved{}
		for method, op := range ops {
			out[path][method] = map[string]*jsonschema.Resolved{}
			for status, resp := range op.Responses {
				ref := resp.Content[jsonType].Schema.Ref
				if ref != "" && resolved[ref] == nil {
					t.Errorf("%s %s: %s does not exist", method, path, ref)
				}
				out[path][method][status] = resolved[ref]
			}
		}
	}
	return out
}

// check compares an answer with its documented shape.
func (d documented) check(t *testing.T, a *api, method, path string, got answer) {
	t.Helper()
	if !strings.HasPrefix(got.header.Get("Content-Type"), jsonType) {
		return
	}
	status := "default"
	if got.code == 200 {
		status = "200"
	}
	schema := d[a.mux.Find(chi.NewRouteContext(), method, path)][strings.ToLower(method)][status]
	if schema == nil {
		return // not a path of the document
	}
	var v any
	if err := json.Unmarshal([]byte(got.body), &v); err != nil {
		t.Errorf("%s %s: %v in %q", method, path, err, got.body)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s: the answer is not what the document says: %v\n%s", method, path, err, got.body)
	}
}

type memoryKeyring struct {
	mu   sync.Mutex
	keys map[string]string
}

func (k *memoryKeyring) Get(name string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.keys[name]
	if !ok {
		return "", secret.ErrNotFound
	}
	return key, nil
}

func (k *memoryKeyring) Set(name, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[name] = key
	return nil
}

func (k *memoryKeyring) Delete(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.keys[name]; !ok {
		return secret.ErrNotFound
	}
	delete(k.keys, name)
	return nil
}

// fakeChannel is an MCP channel without an endpoint.
type fakeChannel struct {
	mu       sync.Mutex
	running  bool
	startErr error
	applied  int
}

func (c *fakeChannel) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = c.startErr == nil
	return c.startErr
}

func (c *fakeChannel) Stop(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	return nil
}

func (c *fakeChannel) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

func (c *fakeChannel) URL() string           { return "http://127.0.0.1:8080/mcp" }
func (c *fakeChannel) Clients() []app.Client { return nil }
func (c *fakeChannel) Apply() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied++
}

// mute is a core that has a configuration and events; whatever else is asked of it panics.
type mute struct {
	Core
	cfg *config.Config
	bus *event.Bus
}

func newMute() *mute { return &mute{cfg: config.Default(), bus: event.NewBus()} }

func (m *mute) Version() string        { return "1.2.3" }
func (m *mute) Config() *config.Config { return m.cfg }
func (m *mute) Events() *event.Bus     { return m.bus }
