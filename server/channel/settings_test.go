package channel

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// The limits of sessions come from the configuration, at the start and when it changes.
func TestSessionLimitsOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, "channels: {mcp: {max_sessions: 2, session_ttl: 90m}}\n"+offline)
	e.start(t)
	r := e.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	if !strings.Contains(r.body, `"ionclaw/session_ttl_seconds":5400`) {
		t.Errorf("initialize: got %s, want a lifetime of 90 minutes", r.body)
	}
	oldest := r.header.Get("Mcp-Session-Id")
	e.initialize(t)
	e.initialize(t)
	if r := e.post(t, ping, "Mcp-Session-Id", oldest); r.status != 404 || !strings.Contains(r.body, "send initialize again") {
		t.Errorf("the oldest of three: got %d %s, want 404", r.status, r.body)
	}
	if err := os.WriteFile(e.paths.Config, []byte("channels: {mcp: {max_sessions: 1, session_ttl: 1s}}\n"+offline), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return len(e.channel.Clients()) < 2 })
	waitFor(t, func() bool { return len(e.channel.Clients()) == 0 })
	if r := e.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`); !strings.Contains(r.body, `"ionclaw/session_ttl_seconds":1}`) {
		t.Errorf("initialize after the change: got %s, want a lifetime of a second", r.body)
	}
}

// Settings take hold at the next request; none of them starts or stops the channel, and a stop leaves them alone.
func TestSettingsAndRunningAreApart(t *testing.T) {
	ageIdentity(t)
	e := open(t, t.TempDir(), "credentials: {mcp_token: {type: simple}}\n"+offline)
	token, err := e.app.GenerateCredential(t.Context(), "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	on, name := true, "mcp_token"
	set := func(s app.MCPSettings) {
		t.Helper()
		if err := e.app.SetMCP(s); err != nil {
			t.Fatal(err)
		}
	}
	set(app.MCPSettings{Enabled: &on})
	if e.channel.Running() {
		t.Error("enabled: the channel runs")
	}
	e.start(t)
	id := e.initialize(t)
	set(app.MCPSettings{RequireAuth: &on, Credential: &name})
	for header, want := range map[string]int{"": 401, "Bearer " + token: 200} {
		if r := e.post(t, ping, "Mcp-Session-Id", id, "Authorization", header); r.status != want {
			t.Errorf("authorization of %d bytes: got %d %s, want %d", len(header), r.status, r.body, want)
		}
	}
	if err := e.app.StopMCP(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := e.app.MCP(); !s.Enabled || s.Running || !s.RequireAuth {
		t.Errorf("after a stop: got %+v, want the settings as they were", s)
	}
}

// What stands in front of the session, in the order of the contract, on the real channel.
func TestRefusalsInOrder(t *testing.T) {
	ageIdentity(t)
	e := open(t, t.TempDir(), withAuth)
	token, err := e.app.GenerateCredential(t.Context(), "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	const foreign = "https://ide.example"
	check := func(name, method string, want int, text string, headers ...string) {
		t.Helper()
		r := e.send(t, method, "", append(headers, "Origin", foreign)...)
		if r.status != want || !strings.Contains(r.body, text) {
			t.Errorf("%s: got %d %s, want %d with %q", name, r.status, r.body, want, text)
		}
		if got := r.header.Get("Access-Control-Allow-Origin"); got != foreign {
			t.Errorf("%s: reflected origin: got %q, want %q", name, got, foreign)
		}
		if r.body != "" && r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: Content-Type: got %q", name, r.header.Get("Content-Type"))
		}
		for header, at := range map[string]int{"Retry-After": 503, "Allow": 405, "Www-Authenticate": 401} {
			if (r.header.Get(header) != "") != (want == at) && want != 204 {
				t.Errorf("%s: header %s: got %q at %d", name, header, r.header.Get(header), want)
			}
		}
		if want >= 500 || want == 401 {
			if !strings.HasPrefix(r.body, `{"jsonrpc":"2.0","id":null,"error":{`) {
				t.Errorf("%s: got %s, want a JSON-RPC error", name, r.body)
			}
		}
	}
	check("stopped before method and token", "PUT", 503, "the MCP channel is stopped")
	check("preflight while stopped", "OPTIONS", 204, "")
	e.start(t)
	check("method before token", "PUT", 405, "POST")
	check("HEAD is not in the table", "HEAD", 405, "")
	check("no token", "POST", 401, "Open IonClaw → Connect")
	check("no token on GET", "GET", 401, "Open IonClaw → Connect")
	check("wrong token", "DELETE", 401, "Open IonClaw → Connect", "Authorization", "Bearer "+token[:len(token)-1])
	check("variable that was not expanded", "POST", 401, "${IONCLAW_TOKEN}", "Authorization", "Bearer ${IONCLAW_TOKEN}")
	check("type", "POST", 415, "Content-Type: application/json", "Authorization", "Bearer "+token, "Content-Type", "text/plain")
	check("preflight without a token", "OPTIONS", 204, "")
	r := e.send(t, http.MethodGet, "", "Authorization", "Bearer "+token)
	if r.status != 405 || r.header.Get("Allow") != "POST" {
		t.Errorf("GET without a session: got %d, Allow %q, want 405 with POST", r.status, r.header.Get("Allow"))
	}
}

// With auth off the names of this machine and the trusted ones open the door, others do not.
func TestTrustedHosts(t *testing.T) {
	e := open(t, t.TempDir(), "server: {trusted_hosts: [mcp.example]}\n"+offline)
	e.start(t)
	for host, want := range map[string]int{
		"localhost": 400, "LOCALHOST.:9": 400, "127.0.0.1:1": 400, "[::1]": 400, "mcp.example": 400, "mcp.example:443": 400,
		"evil.example": 403, "mcp.example.evil": 403, "127.0.0.1.evil": 403, "0.0.0.0": 403,
	} {
		r := e.post(t, ping, "Host", host)
		if r.status != want || want == 403 && !strings.Contains(r.body, "server.trusted_hosts") {
			t.Errorf("host %s: got %d %s, want %d", host, r.status, r.body, want)
		}
	}
}

// The largest body is that of the configuration.
func TestBodyLimitOfTheConfiguration(t *testing.T) {
	e := open(t, t.TempDir(), "server: {max_body: 64KiB}\n"+offline)
	e.start(t)
	id := e.initialize(t)
	for size, want := range map[int]int{60 << 10: 200, 65 << 10: 413} {
		r := e.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}`, strings.Repeat("a", size)), "Mcp-Session-Id", id)
		if r.status != want || want == 413 && !strings.Contains(r.body, "server.max_body") {
			t.Errorf("%d bytes: got %d %.200s, want %d", size, r.status, r.body, want)
		}
	}
}

// Sessions of a stopped channel are gone from the store too; a program that ends keeps them.
func TestStopForgetsStoredSessions(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	e.initialize(t)
	stored := func() int {
		all, err := e.app.Store().MCPSessions()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	waitFor(t, func() bool { return stored() == 1 })
	begin := time.Now()
	if err := e.app.StopMCP(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return stored() == 0 })
	if took := time.Since(begin); took > time.Second {
		t.Errorf("stopping took %v, want at most a second", took)
	}
}
