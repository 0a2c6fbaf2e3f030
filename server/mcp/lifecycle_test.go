package mcp

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestInitialize(t *testing.T) {
	f := newFixture(t, nil)
	for asked, want := range map[string]string{
		`"2024-11-05"`: "2024-11-05", `"2025-03-26"`: "2025-03-26", `"2025-06-18"`: "2025-06-18", `"2025-11-25"`: "2025-11-25",
		`"2026-07-28"`: "2025-11-25", `"1999-01-01"`: "2025-11-25", `""`: "2025-11-25", `5`: "2025-11-25", `null`: "2025-11-25",
	} {
		status, got, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":`+asked+`}}`, nil)
		wantBody := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"` + want + `","capabilities":{"tools":{"listChanged":true},` +
			`"resources":{"subscribe":true},"completions":{}},"serverInfo":{"name":"ionclaw","title":"IonClaw","version":"1.2.3"},` +
			`"instructions":"Use it.","_meta":{"ionclaw/session_ttl_seconds":86400}}}`
		if status != 200 || got != wantBody {
			t.Errorf("asked %s: got %d %s\nwant 200 %s", asked, status, got, wantBody)
		}
		if id := h.Get("Mcp-Session-Id"); !uuid4.MatchString(id) {
			t.Errorf("session id: got %q, want a UUID of version 4", id)
		}
	}
	if status, got, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil); status != 200 || h.Get("Mcp-Session-Id") == "" {
		t.Errorf("without params: got %d %s, want 200", status, got)
	}
	if status, got, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":[]}`, nil); status != 200 ||
		!strings.Contains(got, "-32602") || h.Get("Mcp-Session-Id") != "" {
		t.Errorf("params an array: got %d %s, want 200 -32602", status, got)
	}
}

func TestPingBeforeInitialized(t *testing.T) {
	f := newFixture(t, nil)
	_, _, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil)
	for range 2 {
		if status, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": h.Get("Mcp-Session-Id")}); status != 200 {
			t.Errorf("ping: got %d %s, want 200", status, got)
		}
		f.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header{"Mcp-Session-Id": h.Get("Mcp-Session-Id")})
	}
}

func TestSessionHeader(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	unknown := "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	closed := f.session(Revision2025_11_25)
	if status, body, _ := f.send("DELETE", "", header{"Mcp-Session-Id": closed}); status != 204 || body != "" {
		t.Errorf("DELETE: got %d %q, want 204 without a body", status, body)
	}
	tests := []struct {
		name, method, body, session string
		status                      int
		want                        string
	}{
		{"live", "POST", ping, id, 200, `"id":7,"result":{}`},
		{"missing", "POST", ping, "", 400, `"id":7,"error":{"code":-32600`},
		{"notification, missing", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", 400, `"id":null,"error":{"code":-32600`},
		{"initialize as a notification", "POST", `{"jsonrpc":"2.0","method":"initialize"}`, "", 400, `-32600`},
		{"unknown", "POST", ping, unknown, 404, `"id":7,"error":{"code":-32600,"message":"this session is unknown, closed or expired; send initialize again"}`},
		{"upper case is another id", "POST", ping, strings.ToUpper(id), 404, `-32600`},
		{"not a UUID", "POST", ping, "x", 404, `-32600`},
		{"closed", "POST", ping, closed, 404, `send initialize again`},
		{"call, unknown", "POST", call("1", "echo", `{"message":"x"}`, "1"), unknown, 404, `send initialize again`},
		{"GET, missing", "GET", "", "", 405, `-32600`},
		{"GET, unknown", "GET", "", unknown, 404, `-32600`},
		{"GET, closed", "GET", "", closed, 404, `-32600`},
		{"DELETE, missing", "DELETE", "", "", 400, `-32600`},
		{"DELETE, unknown", "DELETE", "", unknown, 404, `-32600`},
		{"DELETE, again", "DELETE", "", closed, 404, `-32600`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := header{"Accept": acceptBoth}
			if tt.session != "" {
				h["Mcp-Session-Id"] = tt.session
			}
			status, got, answer := f.send(tt.method, tt.body, h)
			if status != tt.status || !strings.Contains(got, tt.want) {
				t.Errorf("got %d %s\nwant %d %s", status, got, tt.status, tt.want)
			}
			if tt.status == 405 && answer.Get("Allow") != "POST" {
				t.Errorf("Allow: got %q, want POST", answer.Get("Allow"))
			}
			if answer.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type: got %q, want application/json", answer.Get("Content-Type"))
			}
		})
	}
}

func TestInitializeAgain(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	again := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","clientInfo":{"name":"other","version":"2"}}}`
	_, got, h := f.send("POST", again, header{"Mcp-Session-Id": id})
	if h.Get("Mcp-Session-Id") != id || !strings.Contains(got, `"protocolVersion":"2025-03-26"`) {
		t.Errorf("live id: got %s %s, want the same session at 2025-03-26", h.Get("Mcp-Session-Id"), got)
	}
	if c := f.mcp.Clients(); len(c) != 1 || c[0].Name != "other" || c[0].Revision != "2025-03-26" {
		t.Errorf("clients: got %+v, want one, renegotiated", c)
	}
	stale := "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
	status, _, h := f.send("POST", again, header{"Mcp-Session-Id": stale})
	if fresh := h.Get("Mcp-Session-Id"); status != 200 || fresh == stale || fresh == id || fresh == "" {
		t.Errorf("stale id: got %d %q, want 200 and a new id", status, fresh)
	}
}

func TestVersionHeader(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	const data = `"data":{"supported":["2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"`
	meta := `{"jsonrpc":"2.0","id":"p","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		name, method, body, version string
		session                     bool
		status                      int
		want                        string
	}{
		{"absent", "POST", ping, "", true, 200, `"result"`},
		{"negotiated", "POST", ping, "2025-11-25", true, 200, `"result"`},
		{"another one that is supported", "POST", ping, "2025-03-26", true, 200, `"result"`},
		{"unknown", "POST", ping, "2025-01-01", true, 400, `"id":1,"error":{"code":-32600`},
		{"nonsense", "POST", ping, "zzz", true, 400, `"id":1,"error":{"code":-32600`},
		{"unknown on GET", "GET", "", "2025-01-01", true, 400, `-32600`},
		{"unknown on DELETE", "DELETE", "", "2025-01-01", true, 400, `-32600`},
		{"stateless", "POST", ping, "2026-07-28", true, 400, `"id":1,"error":{"code":-32022,`},
		{"stateless data", "POST", ping, "2026-07-28", false, 400, data + `2026-07-28"}`},
		{"later", "POST", ping, "2027-01-01", false, 400, data + `2027-01-01"}`},
		{"stateless on GET", "GET", "", "2026-07-28", true, 400, `"id":null,"error":{"code":-32022,`},
		{"in _meta", "POST", meta, "", true, 400, `"id":"p","error":{"code":-32022,`},
		{"in _meta, without session", "POST", meta, "", false, 400, data + `2026-07-28"}`},
		{"discover", "POST", `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{}}`, "", false, 400, `"id":"server-discover-probe-1","error":{"code":-32022,`},
		{"initialize, stateless header", "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, "2026-07-28", false, 400, `"id":0,"error":{"code":-32022,`},
		{"initialize, unknown header", "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, "2025-01-01", false, 200, `"protocolVersion":"2025-11-25"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := header{}
			if tt.version != "" {
				h["MCP-Protocol-Version"] = tt.version
			}
			if tt.session {
				h["Mcp-Session-Id"] = id
			}
			status, got, _ := f.send(tt.method, tt.body, h)
			if status != tt.status || !strings.Contains(got, tt.want) {
				t.Errorf("got %d %s\nwant %d %s", status, got, tt.status, tt.want)
			}
		})
	}
}

func TestDeleteCancelsCalls(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	for _, accept := range []string{"application/json", acceptBoth} {
		id = f.session(Revision2025_11_25)
		body := make(chan string, 1)
		go func() {
			_, got, _ := f.send("POST", call("1", "wait", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": accept})
			body <- got
		}()
		within(t, "start", f.started)
		f.send("DELETE", "", header{"Mcp-Session-Id": id})
		if cause := within(t, "end", f.ended); cause != ErrCancelled {
			t.Errorf("cause: got %v, want %v", cause, ErrCancelled)
		}
		if got := within(t, "answer", body); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "cancelled") {
			t.Errorf("answer: got %s, want an isError result", got)
		}
	}
}

func TestStopEndsEverything(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
	answers := make(chan string, 3)
	for _, c := range []struct{ tool, accept string }{{"wait", "application/json"}, {"partial", acceptBoth}, {"deaf", acceptBoth}} {
		go func() {
			_, got, _ := f.send("POST", call("1", c.tool, "{}", "1"), header{"Mcp-Session-Id": id, "Accept": c.accept})
			answers <- got
		}()
		within(t, "start", f.started)
	}
	begin := time.Now()
	f.mcp.EndAll(nil)
	for range 3 {
		got := within(t, "answer", answers)
		if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "stopped") && !strings.Contains(got, "so far") {
			t.Errorf("answer: got %s, want an isError result", got)
		}
	}
	get.rest(t)
	if took := time.Since(begin); took > time.Second {
		t.Errorf("ending took %s, want at most a second", took)
	}
	close(f.release) // the deaf tool returns late and must not disturb anything
	if cause := within(t, "end", f.ended); cause != ErrStopped {
		t.Errorf("cause: got %v, want %v", cause, ErrStopped)
	}
	if got := f.store.ids(); len(got) != 0 {
		t.Errorf("stored sessions: got %v, want none", got)
	}
	if status, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id}); status != 404 {
		t.Errorf("after the stop: got %d %s, want 404", status, got)
	}
	f.session(Revision2025_11_25)
}

func TestRestartKeepsSessions(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_03_26)
	f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`, header{"Mcp-Session-Id": id})
	f.mcp.Close(nil)
	if status, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id}); status != 503 {
		t.Errorf("closed: got %d %s, want 503", status, got)
	}
	f.mcp = New(f.options())
	if c := f.mcp.Clients(); len(c) != 1 || c[0].SessionID != id || c[0].Name != "test" || c[0].Version != "9" || c[0].Revision != Revision2025_03_26 {
		t.Errorf("clients: got %+v, want the one from before", c)
	}
	if status, got, _ := f.send("POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, header{"Mcp-Session-Id": id}); status != 200 {
		t.Errorf("after the restart: got %d %s, want 200", status, got)
	}
	get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
	f.mcp.ResourceChanged("test://one")
	if ev := get.want(t); !strings.Contains(ev.data, `"uri":"test://one"`) {
		t.Errorf("subscription: got %+v, want an update", ev)
	}
}

func TestCredentials(t *testing.T) {
	f := newFixture(t, nil)
	open := func(digest string) string {
		_, _, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, header{"X-Test-Credential": digest})
		return h.Get("Mcp-Session-Id")
	}
	status := func(id, digest string) int {
		s, _, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id, "X-Test-Credential": digest})
		return s
	}
	old, current, third := open("old"), open("new"), open("third")
	if got := status(old, "new"); got != 200 {
		t.Errorf("old session before the end of its credential: got %d, want 200", got)
	}
	f.mcp.EndCredential("old")
	if got := status(old, "new"); got != 404 {
		t.Errorf("old session after: got %d, want 404", got)
	}
	if got := status(current, "new"); got != 200 {
		t.Errorf("session of the new credential: got %d, want 200", got)
	}
	f.mcp.KeepCredentials("new")
	if got := status(third, "new"); got != 404 {
		t.Errorf("session of a credential that is not kept: got %d, want 404", got)
	}
	if got := f.store.ids(); len(got) != 1 || got[0] != current {
		t.Errorf("stored: got %v, want only %s", got, current)
	}
}

func TestMaxSessions(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.MaxSessions = 3 })
	busy := f.session(Revision2025_11_25)
	go f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": busy})
	within(t, "start", f.started)
	listening := f.session(Revision2025_11_25)
	openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": listening}))
	idle := f.session(Revision2025_11_25)
	fourth := f.session(Revision2025_11_25) // displaces idle
	for id, want := range map[string]int{busy: 200, listening: 200, idle: 404, fourth: 200} {
		if got, _, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id}); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if n := len(f.store.ids()); n != 3 {
		t.Errorf("stored: got %d, want 3", n)
	}
	for _, id := range []string{listening, fourth} {
		go f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": id})
		within(t, "start", f.started)
	}
	if status, got, h := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil); status != 503 || h.Get("Retry-After") == "" {
		t.Errorf("all busy: got %d %s, want 503 with Retry-After", status, got)
	}
	close(f.release)
}

// Two ways to write one resource are two subscriptions to it, and each is answered in its own words.
func TestSubscriptionsInOtherWords(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	send := func(method, uri string) {
		t.Helper()
		if _, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/`+method+`","params":{"uri":"`+uri+`"}}`, header{"Mcp-Session-Id": id}); !strings.Contains(got, `"result":{}`) {
			t.Errorf("%s %s: got %s, want success", method, uri, got)
		}
	}
	send("subscribe", "test://1")
	send("subscribe", "test://1") // again: still one
	send("subscribe", "test://one")
	get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
	f.mcp.ResourceChanged("test://one")
	for _, uri := range []string{"test://1", "test://one"} {
		if ev := get.want(t); !strings.Contains(ev.data, `"uri":"`+uri+`"`) {
			t.Errorf("got %+v, want the update of %s", ev, uri)
		}
	}
	send("unsubscribe", "test://one")
	send("unsubscribe", "test://never")
	if got := f.store.records[id].Subscriptions; len(got) != 1 || got[0] != "test://1" {
		t.Errorf("stored subscriptions: got %q, want test://1 alone", got)
	}
	f.mcp.ResourceChanged("test://one")
	f.mcp.ToolsChanged()
	seen := get.want(t).data + get.want(t).data
	if strings.Contains(seen, "test://one") || !strings.Contains(seen, "test://1") {
		t.Errorf("after unsubscribe: got %s, want the update of test://1 alone", seen)
	}
}
