package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"ionclaw-tray/app"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model/modeltest"
)

// program is a running Run.
type program struct {
	ready Ready
	core  *app.App
	log   *lockedBuffer
	stop  func() error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// run starts the program on dir with the given configuration and waits until it is ready.
func run(t *testing.T, dir, yaml string) *program {
	t.Helper()
	o := options(t, dir, yaml)
	p := &program{log: &lockedBuffer{}}
	ready := make(chan Ready, 1)
	o.LogTo, o.OnApp, o.OnReady = p.log, func(a *app.App) { p.core = a }, func(r Ready) { ready <- r }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	select {
	case p.ready = <-ready:
	case err := <-ended:
		t.Fatalf("the program ended: %v", err)
	}
	p.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return p
}

func options(t *testing.T, dir, yaml string) Options {
	t.Helper()
	free := 0
	o := Options{Paths: app.DefaultPaths(filepath.Join(dir, "config.yml"), filepath.Join(dir, "data")), Version: "test", Port: &free}
	if yaml != "" {
		if err := os.WriteFile(o.Paths.Config, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// request sends JSON and returns status and body. Headers come in pairs.
func request(t *testing.T, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

const initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestRunServesAndStops(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir, "channels: {mcp: {enabled: true}}\n")
	if !p.ready.Running || p.ready.Problem != "" {
		t.Errorf("ready: got %+v", p.ready)
	}
	if status, header, body := request(t, "POST", p.ready.URL, initializeBody); status != 200 || header.Get("Mcp-Session-Id") == "" {
		t.Errorf("initialize: got %d %s", status, body)
	}
	in, err := app.ReadInstance(p.ready.Paths.Instance)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, body := request(t, "GET", in.BaseURL+"/api/status", "", "Authorization", "Bearer "+in.Token); status != 200 || !strings.Contains(body, `"running":true`) {
		t.Errorf("status: got %d %s", status, body)
	}
	if status, _, _ := request(t, "GET", in.BaseURL+"/api/status", ""); status != 401 {
		t.Errorf("status without the token: got %d, want 401", status)
	}
	if status, _, body := request(t, "GET", in.BaseURL+"/.well-known/oauth-protected-resource", ""); status != 404 || !json.Valid([]byte(body)) {
		t.Errorf("well-known: got %d %s", status, body)
	}
	begin := time.Now()
	if err := p.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if took := time.Since(begin); took > ShutdownTime {
		t.Errorf("stopping took %v", took)
	}
	if _, err := os.Stat(p.ready.Paths.Instance); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the instance file is left: %v", err)
	}
}

func TestStopEndsStreamsAndKeepsSessions(t *testing.T) {
	dir := t.TempDir()
	models := modeltest.New(t)
	yaml := fmt.Sprintf("channels: {mcp: {enabled: true}}\nproviders: {t: {base_url: %q}}\nagents: {main: {model: t/m}}\n", models.OpenAIURL())
	p := run(t, dir, yaml)
	_, header, _ := request(t, "POST", p.ready.URL, initializeBody)
	id := header.Get("Mcp-Session-Id")
	models.Push(modeltest.Script{Chunks: []string{"part"}, Silence: true})
	answer := make(chan string, 2)
	accepted := p.core.Events().Subscribe(64)
	defer accepted.Close()
	for _, accept := range []string{"application/json", "text/event-stream"} {
		go func() {
			body := "no answer"
			defer func() { answer <- body }()
			_, _, body = request(t, "POST", p.ready.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"q"}}}`, "Mcp-Session-Id", id, "Accept", accept)
		}()
	}
	<-models.Started()
	for tasks := map[string]bool{}; len(tasks) < 2; { // one runs, one waits
		if e, ok := (<-accepted.C()).Event.(event.TaskChanged); ok {
			tasks[e.Task.ID] = true
		}
	}
	begin := time.Now()
	if err := p.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if took := time.Since(begin); took > ShutdownTime {
		t.Errorf("stopping with a running call took %v", took)
	}
	for range 2 {
		if body := <-answer; !strings.Contains(body, `"isError":true`) {
			t.Errorf("a waiting call got %q, want an error result", body)
		}
	}
	again := run(t, dir, "")
	if status, _, body := request(t, "POST", again.ready.URL, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Mcp-Session-Id", id); status != 200 {
		t.Errorf("the session after a restart: got %d %s, want 200", status, body)
	}
	_, _, tasks := request(t, "POST", again.ready.URL, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_tasks","arguments":{}}}`, "Mcp-Session-Id", id)
	if n := strings.Count(tasks, `"state":"interrupted"`); n != 2 {
		t.Errorf("interrupted tasks: got %d, want 2: %s", n, tasks)
	}
}

// files lists what is in a folder, with contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		found[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRefusedStartsChangeNothing(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		name, yaml string
		port       int
		code       app.Code
		exit       int
		text       string
	}{
		{"open to the network", "server: {host: 0.0.0.0}\n", 0, app.CodeInvalidConfig, 2, "server.host"},
		{"broken file", "server:\n  port: [\n", 0, app.CodeInvalidConfig, 2, "config.yml:"},
		{"unknown provider", "agents: {main: {model: nowhere/m}}\n", 0, app.CodeInvalidConfig, 2, "nowhere"},
		{"missing credential", "providers: {openai: {credential: key}}\n", 0, app.CodeInvalidConfig, 2, "key"},
		{"port taken", "channels: {mcp: {enabled: true}}\n", port, app.CodePortInUse, 4, fmt.Sprint(port)},
	} {
		dir := t.TempDir()
		o := options(t, dir, c.yaml)
		o.Port = &c.port
		before := files(t, dir)
		err := Run(t.Context(), o)
		e := app.AsError(err)
		if e == nil || e.Code != c.code || e.Code.ExitCode() != c.exit || !strings.Contains(e.Error(), c.text) {
			t.Errorf("%s: got %v, want %s (exit code %d) with %q", c.name, err, c.code, c.exit, c.text)
		}
		if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: files before %v, after %v", c.name, before, after)
		}
	}
}

func TestSecondInstance(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir, "channels: {mcp: {enabled: true}}\n")
	var port int
	if _, err := fmt.Sscanf(p.ready.URL, "http://127.0.0.1:%d/mcp", &port); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string]int{"same port": port, "another port": 0} {
		o := options(t, dir, "")
		o.Port = &wanted
		begin := time.Now()
		err := Run(t.Context(), o)
		if e := app.AsError(err); e == nil || e.Code != app.CodeAlreadyRunning || !strings.Contains(e.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%s: got %v, want already_running with the process id", name, err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: the message took %v", name, took)
		}
	}
	if status, _, _ := request(t, "POST", p.ready.URL, initializeBody); status != 200 {
		t.Errorf("the first one after that: got %d, want 200", status)
	}
}

func TestChannelWithoutItsTokenStaysClosed(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	p := run(t, t.TempDir(), "channels: {mcp: {enabled: true, require_auth: true, credential: mcp_token}}\ncredentials: {mcp_token: {type: simple}}\n")
	if p.ready.Running || !strings.Contains(p.ready.Problem, "mcp_token") {
		t.Errorf("ready: got %+v", p.ready)
	}
	if status, _, _ := request(t, "POST", p.ready.URL, initializeBody); status != 503 {
		t.Errorf("initialize: got %d, want 503", status)
	}
}

// traces are the forms in which a key might be left behind.
func traces(key string) []string {
	b := []byte(key)
	return []string{key, key[:8], base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b), hex.EncodeToString(b)}
}

// A whole life of the program: wrong and right tokens, provider keys that work and fail, rotation, reveal, restart.
// Nothing that it leaves behind, and nothing that it says, holds a key in any form.
func TestNoKeyIsLeftBehind(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	idFile := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(idFile, []byte(identity.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IONCLAW_AGE_IDENTITY", idFile)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	const providerKey = "sk-live-Zq8vT3nW5yB1mK7x"
	models := modeltest.New(t)
	models.RequireKey(providerKey)
	dir := t.TempDir()
	yaml := fmt.Sprintf(`channels: {mcp: {enabled: true, require_auth: true, credential: mcp_token, rotation_grace: 10ms}}
credentials: {mcp_token: {type: simple}, model: {type: simple}}
providers: {t: {base_url: %q, credential: model}, a: {base_url: %q, type: anthropic, credential: model}}
agents: {main: {model: t/m}, claude: {model: a/m}}
classifier: {model: builtin/offline}
`, models.OpenAIURL(), models.AnthropicURL())
	var secrets, answers []string
	say := func(texts ...string) { answers = append(answers, texts...) }

	p := run(t, dir, yaml)
	ctx := t.Context()
	token, err := p.core.GenerateCredential(ctx, "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, token, providerKey)
	if err := p.core.StartMCP(ctx); err != nil {
		t.Fatal(err)
	}
	chat := func(token, agent string) {
		_, header, body := request(t, "POST", p.ready.URL, initializeBody, "Authorization", "Bearer "+token)
		say(body)
		for _, accept := range []string{"application/json", "text/event-stream"} {
			_, _, body = request(t, "POST", p.ready.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"q","agent":"`+agent+`"},"_meta":{"progressToken":1}}}`,
				"Authorization", "Bearer "+token, "Mcp-Session-Id", header.Get("Mcp-Session-Id"), "Accept", accept)
			say(body)
		}
	}
	chat(token+"wrong", "main")
	chat(token, "main") // no provider key yet
	if err := p.core.SetCredential(ctx, "model", "sk-wrong-key-0123456789"); err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, "sk-wrong-key-0123456789")
	chat(token, "main")
	chat(token, "claude")
	if err := p.core.SetCredential(ctx, "model", providerKey); err != nil {
		t.Fatal(err)
	}
	chat(token, "main")
	chat(token, "claude")
	fresh, err := p.core.GenerateCredential(ctx, "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, fresh)
	chat(fresh, "main")
	in, err := app.ReadInstance(p.ready.Paths.Instance)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"status", "credentials", "channels/mcp", "sessions", "tasks", "agents/main"} {
		_, _, body := request(t, "GET", in.BaseURL+"/api/"+path, "", "Authorization", "Bearer "+in.Token)
		say(body)
	}
	if _, _, body := request(t, "POST", in.BaseURL+"/api/credentials/mcp_token/reveal", "", "Authorization", "Bearer "+in.Token); !strings.Contains(body, fresh) {
		t.Errorf("reveal does not reveal: %s", body)
	}
	p.core.Log().Error("a careless line", "header", http.Header{"Authorization": {"Bearer " + fresh}}, "err", fmt.Errorf("key %s", providerKey))
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	secrets = append(secrets, in.Token)

	left := files(t, dir)
	left["log on standard error"] = p.log.String()
	left["answers"] = strings.Join(answers, "\n")
	if len(left["answers"]) < 1000 || len(left[p.ready.Paths.Log]) < 100 {
		t.Errorf("too little to search: %d bytes of answers, %d of log", len(left["answers"]), len(left[p.ready.Paths.Log]))
	}
	for _, key := range secrets {
		for _, trace := range traces(key) {
			for name, text := range left {
				if strings.Contains(strings.ToLower(text), strings.ToLower(trace)) {
					t.Errorf("%s holds a key (form of %d characters)", name, len(trace))
				}
			}
		}
	}
}

// Clients look for an OAuth server after a 401. Whatever they ask and however, there is none, and the answer is JSON;
// the 401 itself sends them to the Connect page.
func TestOAuthProbesFindNothing(t *testing.T) {
	t.Setenv("IONCLAW_CREDENTIAL_MCP_TOKEN", "0123456789abcdef0123456789abcdef")
	p := run(t, t.TempDir(), "channels: {mcp: {enabled: true, require_auth: true, credential: mcp_token}}\ncredentials: {mcp_token: {type: simple}}\n")
	status, header, body := request(t, "POST", p.ready.URL, initializeBody)
	if status != 401 || header.Get("WWW-Authenticate") != `Bearer realm="ionclaw"` || !strings.Contains(body, "Open IonClaw → Connect") {
		t.Fatalf("without a token: got %d %v %s", status, header, body)
	}
	base := strings.TrimSuffix(p.ready.URL, MCPPath)
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
		"/.well-known/openid-configuration", "/register", "/authorize", "/token",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
			status, header, body := request(t, method, base+path, "", "Origin", "https://ide.example")
			if status != 404 || header.Get("Content-Type") != "application/json" || !json.Valid([]byte(body)) {
				t.Errorf("%s %s: got %d %s %s, want a 404 with JSON", method, path, status, header.Get("Content-Type"), body)
			}
		}
	}
	if status, header, _ := request(t, "POST", p.ready.URL, initializeBody, "Authorization", "bearer  0123456789abcdef0123456789abcdef "); status != 200 || header.Get("Mcp-Session-Id") == "" {
		t.Errorf("with the token: got %d, want 200", status)
	}
}
