package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixture is a server with a few tools whose behaviour a test steers.
type fixture struct {
	t       *testing.T
	mcp     *Server
	url     string
	client  *http.Client
	started chan *Call    // a "wait" call begins
	release chan struct{} // lets one "wait" call return
	ended   chan error    // cause with which a "wait" call ended
	chunks  chan string   // what "stream" sends; closing it ends the call
	store   *memoryStore
}

type memoryStore struct {
	mu      sync.Mutex
	records map[string]SessionRecord
	puts    int
}

func newMemoryStore() *memoryStore { return &memoryStore{records: map[string]SessionRecord{}} }

func (m *memoryStore) Load() ([]SessionRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []SessionRecord
	for _, r := range m.records {
		list = append(list, r)
	}
	return list, nil
}

func (m *memoryStore) Put(r SessionRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	m.records[r.ID] = r
}

func (m *memoryStore) Delete(ids ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		delete(m.records, id)
	}
}

func (m *memoryStore) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.records)
}

func (m *memoryStore) ids() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for id := range m.records {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

type testResources struct{}

func (testResources) List() []Resource {
	return []Resource{{URI: "test://one", Name: "one", Title: "One", Description: "the first", MIMEType: "text/plain"}}
}

func (testResources) Templates() []ResourceTemplate {
	return []ResourceTemplate{{URITemplate: "test://item/{id}", Name: "item", MIMEType: "application/json"}}
}

func (testResources) Read(_ context.Context, uri string) ([]ResourceContents, error) {
	switch {
	case uri == "test://one":
		return []ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "eins <&>"}}, nil
	case uri == "test://blob":
		return []ResourceContents{{URI: uri, Blob: []byte{0, 1, 2}}}, nil
	case uri == "test://broken":
		return nil, fmt.Errorf("disk on fire at %s", "/secret/path")
	case uri == "test://panic":
		panic("resource panic")
	}
	return nil, fmt.Errorf("reading %s: %w", uri, ErrNotFound)
}

// Canonical knows test://1 as another way to write test://one.
func (testResources) Canonical(uri string) (string, bool) {
	if uri == "test://1" {
		uri = "test://one"
	}
	return uri, strings.HasPrefix(uri, "test://")
}

type testCompleter struct{}

func (testCompleter) Complete(_ context.Context, req CompleteRequest) (Completion, error) {
	if req.Ref == "test://item/{id}" {
		values := []string{}
		for i := range 150 {
			values = append(values, fmt.Sprintf("%s%d", req.Value, i))
		}
		return Completion{Values: values}, nil
	}
	return Completion{}, InvalidParams("ref", "is unknown")
}

const echoSchema = `{"type":"object","properties":{"message":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":500},
 "state":{"type":"string","enum":["on","off"]}},"required":["message"],"additionalProperties":false}`

func (f *fixture) tools() *ToolSet {
	return NewToolSet(
		&Tool{Name: "echo", Title: "Echo", Description: "gives back", InputSchema: json.RawMessage(echoSchema),
			Handle: func(_ context.Context, c *Call) (*Result, error) {
				return &Result{Content: []Content{Text(unquote(member(c.Arguments, "message")))},
					StructuredContent: json.RawMessage("{\n \"a\": 1\r\n}"), Meta: map[string]any{"x/y": "z", "n": 1}}, nil
			}},
		&Tool{Name: "wait", Handle: func(ctx context.Context, c *Call) (*Result, error) {
			f.started <- c
			select {
			case <-f.release:
				return TextResult("released"), nil
			case <-ctx.Done():
				f.ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		}},
		&Tool{Name: "partial", Handle: func(ctx context.Context, c *Call) (*Result, error) {
			f.started <- c
			<-ctx.Done()
			return TextResult("so far"), nil
		}},
		&Tool{Name: "deaf", Handle: func(_ context.Context, c *Call) (*Result, error) {
			f.started <- c
			<-f.release
			return TextResult("late"), nil
		}},
		&Tool{Name: "stream", Handle: func(_ context.Context, c *Call) (*Result, error) {
			c.DefaultToken("task-1")
			f.started <- c
			n := 0
			for chunk := range f.chunks {
				c.Progress(chunk)
				n++
			}
			return TextResult(fmt.Sprintf("%d chunks", n)), nil
		}},
		&Tool{Name: "panic", Handle: func(context.Context, *Call) (*Result, error) { panic("tool panic with secret") }},
		&Tool{Name: "fail", Handle: func(context.Context, *Call) (*Result, error) {
			return nil, fmt.Errorf("database at /secret/path is gone")
		}},
		&Tool{Name: "picky", Handle: func(context.Context, *Call) (*Result, error) {
			return nil, InvalidParams("color", "is not a colour")
		}},
		&Tool{Name: "badjson", Handle: func(context.Context, *Call) (*Result, error) {
			return &Result{StructuredContent: json.RawMessage(`{"a":`)}, nil
		}},
		&Tool{Name: "nothing", Handle: func(context.Context, *Call) (*Result, error) { return nil, nil }},
	)
}

func (f *fixture) options() Options {
	return Options{Info: Info{Name: "ionclaw", Title: "IonClaw", Version: "1.2.3"}, Instructions: "Use it.",
		Tools: f.tools(), Resources: testResources{}, Completer: testCompleter{}, Sessions: f.store}
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, started: make(chan *Call, 100), release: make(chan struct{}), ended: make(chan error, 100),
		chunks: make(chan string), store: newMemoryStore()}
	opt := f.options()
	if change != nil {
		change(&opt)
	}
	f.mcp = New(opt)
	f.serve()
	return f
}

// newPipeFixture is newFixture on connections in memory, for tests inside a synctest bubble.
func newPipeFixture(t *testing.T, change func(*Options)) *fixture {
	f := &fixture{t: t, started: make(chan *Call, 100), release: make(chan struct{}), ended: make(chan error, 100),
		chunks: make(chan string), store: newMemoryStore()}
	opt := f.options()
	if change != nil {
		change(&opt)
	}
	f.mcp = New(opt)
	listener := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: f.mcp}
	go server.Serve(listener)
	transport := &http.Transport{DialContext: listener.dial}
	f.url, f.client = "http://mcp.test/mcp", &http.Client{Transport: transport}
	t.Cleanup(func() {
		f.mcp.Close(nil)
		transport.CloseIdleConnections()
		server.Close()
	})
	return f
}

// pipeListener accepts connections that never leave the process.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (f *fixture) serve() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(WithCredential(r.Context(), r.Header.Get("X-Test-Credential")))
		f.mcp.ServeHTTP(w, r)
	}))
	f.url, f.client = server.URL, server.Client()
	f.t.Cleanup(func() {
		f.mcp.Close(nil)
		f.client.CloseIdleConnections()
		server.Close()
	})
}

type header map[string]string

// do sends one request and returns the response; the caller closes the body.
func (f *fixture) do(method, body string, h header) *http.Response {
	f.t.Helper()
	req, err := http.NewRequest(method, f.url, strings.NewReader(body))
	if err != nil {
		panic(err) // a mistake in the test itself
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range h {
		req.Header.Set(k, v)
		if v == "-" {
			req.Header.Del(k)
		}
	}
	resp, err := f.client.Do(req)
	if err != nil {
		f.t.Error(err)
		return &http.Response{Header: http.Header{}, Body: http.NoBody}
	}
	return resp
}

// send is do with the whole body read.
func (f *fixture) send(method, body string, h header) (status int, text string, answer http.Header) {
	f.t.Helper()
	resp := f.do(method, body, h)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Error(err)
	}
	return resp.StatusCode, string(raw), resp.Header
}

// session initialises and returns the id.
func (f *fixture) session(version string) string {
	f.t.Helper()
	status, body, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":{},"clientInfo":{"name":"test","version":"9"}}}`, nil)
	if status != 200 || h.Get("Mcp-Session-Id") == "" {
		f.t.Fatalf("initialize: got %d %s, want 200 with a session", status, body)
	}
	if status, body, _ := f.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		header{"Mcp-Session-Id": h.Get("Mcp-Session-Id")}); status != 202 || body != "" {
		f.t.Fatalf("initialized: got %d %q, want 202 and no body", status, body)
	}
	return h.Get("Mcp-Session-Id")
}

// events reads an event stream frame by frame.
type events struct {
	body io.ReadCloser
	in   *bufio.Reader
}

type sseEvent struct{ id, event, data, comment, retry string }

func openEvents(t *testing.T, resp *http.Response) *events {
	t.Helper()
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		raw, _ := io.ReadAll(resp.Body)
		t.Fatalf("got %d %s %s, want an event stream", resp.StatusCode, ct, raw)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &events{body: resp.Body, in: bufio.NewReader(resp.Body)}
}

func (e *events) next() (ev sseEvent, err error) {
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return ev, err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return ev, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			ev.comment = value
		case "id":
			ev.id = value
		case "event":
			ev.event = value
		case "retry":
			ev.retry = value
		case "data":
			ev.data += value
		default:
			return ev, fmt.Errorf("unknown line %q", line)
		}
	}
}

func (e *events) want(t *testing.T) sseEvent {
	t.Helper()
	ev, err := e.next()
	if err != nil {
		t.Fatalf("reading an event: %v", err)
	}
	return ev
}

// rest reads to the end of the stream.
func (e *events) rest(t *testing.T) []sseEvent {
	t.Helper()
	var list []sseEvent
	for {
		ev, err := e.next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("reading events: %v", err)
		}
		list = append(list, ev)
	}
}

func call(id, tool, arguments, token string) string {
	meta := ""
	if token != "" {
		meta = `,"_meta":{"progressToken":` + token + `}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + meta + `}}`
}

const acceptBoth = "application/json, text/event-stream"

// within fails the test when nothing comes in time: a bound for hangs, never a wait.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}
