package mcp

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// step is one request of a recorded client, with what it must get.
type step struct {
	method, body string
	headers      header // beside the client's own; $ stands for the session
	status       int
	want         string
}

// What real clients sent, in their order and with their headers.
func TestRecordedClients(t *testing.T) {
	const claudeInit = `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"claude-code","title":"Claude Code","version":"2.1.332"}},"jsonrpc":"2.0","id":0}`
	initialized := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	inSession := header{"Mcp-Session-Id": "$"}
	atNewest := header{"Mcp-Session-Id": "$", "Mcp-Protocol-Version": "2025-11-25"}
	codex := header{"mcp-session-id": "$", "mcp-protocol-version": "2025-06-18"}
	clients := []struct {
		name  string
		own   header
		steps []step
	}{
		{"Claude Code", header{"Accept": acceptBoth, "User-Agent": "claude-code/2.1.332 (sdk-cli)", "Accept-Encoding": "identity"}, []step{
			{"POST", `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}}}`,
				header{"Mcp-Method": "server/discover", "Mcp-Protocol-Version": "2026-07-28"}, 400,
				`"id":"server-discover-probe-1","error":{"code":-32022`},
			{"POST", claudeInit, nil, 200, `"id":0,"result":{"protocolVersion":"2025-11-25"`},
			{"POST", initialized, atNewest, 202, ``},
			{"POST", `{"method":"tools/list","jsonrpc":"2.0","id":1}`, atNewest, 200, `"id":1,"result":{"tools":[`},
			{"POST", `{"method":"resources/list","jsonrpc":"2.0","id":2}`, atNewest, 200, `"id":2,"result":{"resources":[`},
			{"POST", `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":3}},"jsonrpc":"2.0","id":3}`, atNewest, 200, `"id":3,"result":{"content":[{"type":"text","text":"hi"}]`},
		}},
		{"Codex", header{"Accept": "text/event-stream, application/json"}, []step{
			{"POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"codex-mcp-client","title":"Codex","version":"0.171.0"}}}`, nil, 200, `"protocolVersion":"2025-06-18"`},
			{"POST", initialized, codex, 202, ``},
			{"POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":0}}}`, codex, 200, `"tools":[`},
			{"POST", `{"jsonrpc":"2.0","id":2,"method":"resources/list","params":{"_meta":{"progressToken":1}}}`, codex, 200, `"resources":[`},
			{"POST", `{"jsonrpc":"2.0","id":3,"method":"resources/templates/list","params":{"_meta":{"progressToken":2}}}`, codex, 200, `"resourceTemplates":[`},
			{"POST", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"progressToken":3,"callId":"c","x-codex-turn-metadata":{}},"name":"echo","arguments":{"message":"hi"}}}`, codex, 200, `"id":4,"result"`},
			{"DELETE", ``, header{"mcp-session-id": "$", "Accept": "*/*"}, 204, ``},
		}},
		{"Copilot CLI after a lost session", header{"Accept": "text/event-stream, application/json"}, []step{
			{"DELETE", ``, header{"Mcp-Session-Id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "Accept": "*/*"}, 404, `-32600`},
			{"POST", `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}`, header{"MCP-Protocol-Version": "2026-07-28"}, 400, `"id":0,"error":{"code":-32022`},
			{"POST", strings.Replace(claudeInit, "claude-code", "copilot", 1), nil, 200, `"protocolVersion":"2025-11-25"`},
			{"POST", initialized, inSession, 202, ``},
		}},
		{"Gemini CLI", header{"Accept": acceptBoth}, []step{
			{"POST", `{"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"gemini-cli-mcp-client","version":"0.61.0"}},"jsonrpc":"2.0","id":0}`, nil, 200, `"protocolVersion":"2025-06-18"`},
			{"POST", initialized, inSession, 202, ``},
			{"POST", `{"method":"ping","jsonrpc":"2.0","id":1}`, inSession, 200, `"id":1,"result":{}`},
			{"POST", `{"method":"tools/list","params":{},"jsonrpc":"2.0","id":2}`, inSession, 200, `"tools":[`},
			{"POST", `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"progressToken":"5f0c1b0e-7f5a-4a0e-9d0a-3c4cc1f3ed55"}},"jsonrpc":"2.0","id":3}`, inSession, 200, `"id":3,"result"`},
		}},
		{"opencode", header{"Accept": acceptBoth}, []step{
			{"POST", strings.Replace(claudeInit, "claude-code", "opencode", 1), nil, 200, `"protocolVersion":"2025-11-25"`},
			{"POST", initialized, atNewest, 202, ``},
			{"POST", `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"progressToken":2}},"jsonrpc":"2.0","id":2}`, atNewest, 200, `"id":2,"result"`},
			{"POST", `{"method":"notifications/cancelled","params":{"requestId":2,"reason":"AbortError: This operation was aborted"},"jsonrpc":"2.0"}`, atNewest, 202, ``},
			{"POST", `{"method":"ping","jsonrpc":"2.0","id":3}`, atNewest, 200, `"id":3,"result":{}`},
		}},
		{"mcp-remote", header{"Accept": acceptBoth}, []step{
			{"GET", ``, nil, 405, `-32600`},
			{"POST", strings.Replace(claudeInit, "claude-code", "x (via mcp-remote 0.15.1)", 1), nil, 200, `"protocolVersion":"2025-11-25"`},
		}},
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, nil)
			session := ""
			for i, s := range c.steps {
				h := header{}
				for _, from := range []header{c.own, s.headers} {
					for k, v := range from {
						h[k] = strings.Replace(v, "$", session, 1)
					}
				}
				status, body, answer := f.send(s.method, s.body, h)
				if status != s.status || !strings.Contains(body, s.want) {
					t.Errorf("step %d: got %d %s\nwant %d %s", i, status, body, s.status, s.want)
				}
				if id := answer.Get("Mcp-Session-Id"); id != "" {
					session = id
				}
			}
		})
	}
}

func TestManySessionsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 10000
		s := New(Options{MaxSessions: count})
		defer s.Close(nil)
		goroutines, before := runtime.NumGoroutine(), heap()
		for range count {
			s.createSession(Revision2025_11_25, "claude-code", "2.1.332", strings.Repeat("d", 64))
		}
		if each := (heap() - before) / count; each > 4096 {
			t.Errorf("an idle session costs %d bytes, want at most 4096", each)
		}
		if got := runtime.NumGoroutine(); got > goroutines {
			t.Errorf("goroutines with sessions: got %d, want at most %d", got, goroutines)
		}
		time.Sleep(DefaultSessionTTL + 2*time.Second)
		if n := len(s.Clients()); n != 0 {
			t.Errorf("sessions after the sweep: got %d, want none", n)
		}
		if after := heap(); after > before+256<<10 {
			t.Errorf("heap: got %d bytes more than at the start, want none", after-before)
		}
	})
}
