package channel

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"ionclaw-tray/app"
	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

func TestStoppedChannelSaysSo(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if r.status != 503 || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "the MCP channel is stopped") || !strings.Contains(r.body, `"id":null`) {
		t.Errorf("got %d %v %s", r.status, r.header, r.body)
	}
}

func TestStopClearsSessionsAndFailsWaitingCalls(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	id := e.initialize(t)
	gate := make(chan struct{})
	e.models.Push(modeltest.Script{Chunks: []string{"late"}, Gate: gate})
	answered := make(chan toolResult, 1)
	go func() { answered <- e.call(t, id, "chat", `{"message":"q"}`) }()
	<-e.models.Started()
	begin := time.Now()
	if err := e.app.StopMCP(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := <-answered
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the waiting call failed after %v", took)
	}
	if !res.IsError {
		t.Errorf("waiting call: got %+v, want isError", res)
	}
	if err := e.app.StopMCP(t.Context()); app.AsError(err).Code != app.CodeConflict {
		t.Errorf("second stop: got %v, want a conflict", err)
	}
	close(gate)
	key := session.Key{Channel: session.ChannelMCP, ID: id}
	waitFor(t, func() bool { // the turn went on
		page, err := e.app.Tasks(store.TaskQuery{Limit: 1, Session: key})
		return err == nil && len(page.Tasks) == 1 && page.Tasks[0].State == task.Done && page.Tasks[0].Result == "late"
	})
	e.start(t)
	if r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id); r.status != 404 {
		t.Errorf("old session after a start: got %d %s, want 404", r.status, r.body)
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	var id string
	t.Run("first run", func(t *testing.T) {
		e := open(t, dir, offline)
		e.start(t)
		id = e.initialize(t)
		if res := e.call(t, id, "chat", `{"message":"remember me"}`); res.IsError {
			t.Fatalf("chat: %+v", res)
		}
	})
	t.Run("second run", func(t *testing.T) {
		e := open(t, dir, offline)
		e.start(t)
		res := e.call(t, id, "get_session", `{"session_id":"`+id+`"}`)
		if res.IsError || !strings.Contains(res.text(), "remember me") {
			t.Errorf("get_session after a restart: got %+v", res)
		}
		clients := e.channel.Clients()
		if len(clients) != 1 || clients[0].Name != "t" || clients[0].Session != id {
			t.Errorf("clients after a restart: got %+v", clients)
		}
	})
}

// ageIdentity gives the vault a place for keys that works without a keyring.
func ageIdentity(t *testing.T) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(path, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IONCLAW_AGE_IDENTITY", path)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
}

const withAuth = `
channels: {mcp: {require_auth: true, credential: mcp_token, rotation_grace: 200ms}}
credentials: {mcp_token: {type: simple}}
` + offline

func TestToken(t *testing.T) {
	ageIdentity(t)
	e := open(t, t.TempDir(), withAuth)
	if err := e.app.StartMCP(t.Context()); app.AsError(err).Code != app.CodeNoCredential {
		t.Fatalf("start without a token: got %v, want no_credential", err)
	}
	old, err := e.app.GenerateCredential(t.Context(), "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	e.start(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, header string
		want         int
		text         string
	}{
		{"none", "", 401, "Connect"},
		{"wrong", "Bearer nope", 401, "Connect"},
		{"unexpanded", "Bearer ${IONCLAW_TOKEN}", 401, "did not expand"},
		{"right, no session", "Bearer " + old, 400, "initialize"},
	} {
		r := e.post(t, ping, "Authorization", c.header)
		if r.status != c.want || !strings.Contains(r.body, c.text) {
			t.Errorf("%s: got %d %s, want %d with %q", c.name, r.status, r.body, c.want, c.text)
		}
		if r.status == 401 && (r.header.Get("WWW-Authenticate") != `Bearer realm="ionclaw"` || !strings.Contains(r.body, `"id":null`)) {
			t.Errorf("%s: got header %q, body %s", c.name, r.header.Get("WWW-Authenticate"), r.body)
		}
	}

	id := e.initialize(t, "Authorization", "Bearer "+old)
	fresh, err := e.app.GenerateCredential(t.Context(), "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"old": old, "new": fresh} {
		if r := e.post(t, ping, "Authorization", "Bearer "+token, "Mcp-Session-Id", id); r.status != 200 {
			t.Errorf("%s token within the grace period: got %d %s, want 200", name, r.status, r.body)
		}
	}
	waitFor(t, func() bool { return len(e.channel.Clients()) == 0 })
	if r := e.post(t, ping, "Authorization", "Bearer "+old, "Mcp-Session-Id", id); r.status != 401 {
		t.Errorf("old token after the grace period: got %d, want 401", r.status)
	}
	if r := e.post(t, ping, "Authorization", "Bearer "+fresh, "Mcp-Session-Id", id); r.status != 404 {
		t.Errorf("session of the old token: got %d, want 404", r.status)
	}
	e.initialize(t, "Authorization", "Bearer "+fresh)
}

func TestVanishedTokenIsNoOpenDoor(t *testing.T) {
	ageIdentity(t)
	e := open(t, t.TempDir(), withAuth)
	token, err := e.app.GenerateCredential(t.Context(), "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	e.start(t)
	off := false
	on := true
	if err := e.app.SetMCP(app.MCPSettings{RequireAuth: &off}); err != nil {
		t.Fatal(err)
	}
	e.initialize(t)
	if err := os.Remove(e.paths.AgeFile()); err != nil {
		t.Fatal(err)
	}
	if err := e.app.SetCredential(t.Context(), "other", "0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	name := "other"
	if err := e.app.SetMCP(app.MCPSettings{RequireAuth: &on, Credential: &name}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(e.paths.AgeFile()); err != nil {
		t.Fatal(err)
	}
	name = "mcp_token"
	if err := e.app.SetMCP(app.MCPSettings{Credential: &name}); err != nil {
		t.Fatal(err)
	}
	r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer "+token+"x")
	if r.status != 503 || !strings.Contains(r.body, "mcp_token") {
		t.Errorf("unreadable token: got %d %s, want 503 with the reason", r.status, r.body)
	}
}

func TestTwoChatsOfTwoSecondsTakeTwoSeconds(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	e.models.Handle(func(*modeltest.Request) modeltest.Script {
		return modeltest.Script{Chunks: []string{"a", "b"}, Delay: time.Second}
	})
	begin := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		id := e.initialize(t)
		wg.Go(func() {
			if res := e.call(t, id, "chat", `{"message":"q"}`); res.text() != "ab" {
				t.Errorf("chat: got %+v", res)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took < 2*time.Second || took > 3500*time.Millisecond {
		t.Errorf("two chats of 2 s took %v, want 2 s", took)
	}
}

func TestTwoMessagesOfOneChatDoNotMix(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	e.models.Handle(func(r *modeltest.Request) modeltest.Script {
		return modeltest.Script{Chunks: []string{"re: ", r.LastText()}, Delay: 20 * time.Millisecond}
	})
	id := e.initialize(t)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if res := e.call(t, id, "chat", fmt.Sprintf(`{"message":"m%d"}`, i)); res.text() != fmt.Sprintf("re: m%d", i) {
				t.Errorf("chat %d: got %+v", i, res)
			}
		})
	}
	wg.Wait()
	view, err := e.app.Session(session.Key{Channel: "mcp", ID: id}, store.MessageQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(view.History) != 6 {
		t.Fatalf("history: got %d messages, want 6", len(view.History))
	}
	for i := 0; i < 6; i += 2 {
		if q, a := view.History[i], view.History[i+1]; a.Content != "re: "+q.Content {
			t.Errorf("pair %d: got %q, %q", i/2, q.Content, a.Content)
		}
	}
}

func TestToolErrorsSayWhatIsWrong(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	for _, c := range []struct{ tool, args, want string }{
		{"chat", `{"message":""}`, "the message is empty"},
		{"chat", `{"message":"x","agent":"cook"}`, "the agents are: main"},
		{"chat", `{"message":"x","session_id":"nope"}`, "not a session id"},
		{"chat", `{"message":"x","sesion_id":"y"}`, "sesion_id"},
		{"get_session", `{"session_id":"7f1c9f2e-0000-4000-8000-000000000000"}`, "there is no chat mcp:7f1c9f2e"},
		{"get_task", `{"task_id":"42"}`, "there is no task 42"},
		{"list_tasks", `{"limit":501}`, "limit"},
		{"list_tasks", `{"state":"sleeping"}`, "state"},
		{"list_sessions", `{"cursor":"%%%"}`, "cursor"},
		{"list_sessions", `{"channel":"fax"}`, "channel"},
	} {
		res := e.call(t, id, c.tool, c.args)
		if !res.IsError || !strings.Contains(res.text(), c.want) {
			t.Errorf("%s %s: got %v %q, want an error with %q", c.tool, c.args, res.IsError, res.text(), c.want)
		}
	}
	if got := e.call(t, id, "abort", `{"session_id":"`+id+`"}`).field(t, "status"); got != "no_active_turn" {
		t.Errorf("abort of nothing: got %q", got)
	}
	if got := e.call(t, id, "delete_session", `{"session_id":"`+id+`"}`).field(t, "status"); got != "not_found" {
		t.Errorf("delete of nothing: got %q", got)
	}
}

func TestChatOfAnotherChannelIsContinued(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	key := session.NewKey(session.ChannelDesktop)
	e.models.Push(modeltest.Script{Chunks: []string{"first"}}, modeltest.Script{Chunks: []string{"second"}})
	turn, err := e.app.Chat(app.ChatRequest{Key: key, Channel: session.ChannelDesktop, Message: "begun in the window"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := e.initialize(t)
	res := e.call(t, id, "chat", `{"message":"continued in the IDE","session_id":"`+key.Stored("main")+`"}`)
	if res.text() != "second" || res.Meta[metaSession] != key.String() {
		t.Fatalf("chat: got %+v", res)
	}
	reqs := e.models.Requests()
	var texts []string
	for _, m := range reqs[len(reqs)-1].Messages {
		texts = append(texts, m.Text)
	}
	if got, want := strings.Join(texts[len(texts)-3:], "|"), "begun in the window|first|continued in the IDE"; got != want {
		t.Errorf("what the model saw: got %q, want %q", got, want)
	}
}

func TestFailureAfterTextIncludesTheText(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	e.models.Push(modeltest.Script{Chunks: []string{"The answer is"}, CloseMidStream: true})
	res := e.call(t, e.initialize(t), "chat", `{"message":"q"}`)
	if !res.IsError || !strings.Contains(res.text(), "The answer is") || !strings.Contains(res.text(), "test/m") {
		t.Errorf("got %v %q", res.IsError, res.text())
	}
}

func TestProgressTokensOfEveryTypeComeBack(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	for _, token := range []string{`0`, `""`, `"0"`, `12345678901234567890123`, `1.50`, `"ü\u0041"`} {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"hi"},"_meta":{"progressToken":`+token+`}}}`,
			"Mcp-Session-Id", id, "Accept", "text/event-stream, application/json")
		if !strings.Contains(r.body, `"progressToken":`+token+`,`) {
			t.Errorf("token %s: got %.300s", token, r.body)
		}
	}
	r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"hi"}}}`,
		"Mcp-Session-Id", id, "Accept", "text/event-stream")
	task := r.body[strings.LastIndex(r.body, `"ionclaw/task_id":"`)+len(`"ionclaw/task_id":"`):][:36]
	if !strings.Contains(r.body, `"progressToken":"`+task+`"`) {
		t.Errorf("without a token: the task id %s is not used: %.300s", task, r.body)
	}
}

func TestResultsMatchTheirSchemas(t *testing.T) {
	for _, tool := range Tools(nil).List() {
		for name, raw := range map[string]json.RawMessage{"input": tool.InputSchema, "output": tool.OutputSchema} {
			var s struct {
				Type                 string         `json:"type"`
				Properties           map[string]any `json:"properties"`
				Required             []string       `json:"required"`
				AdditionalProperties *bool          `json:"additionalProperties"`
			}
			if raw == nil && name == "output" && tool.Name == "chat" {
				continue
			}
			if err := json.Unmarshal(raw, &s); err != nil || s.Type != "object" {
				t.Errorf("%s %s schema: %v %s", tool.Name, name, err, raw)
			}
			if name == "input" && (s.AdditionalProperties == nil || *s.AdditionalProperties) {
				t.Errorf("%s: the input schema is open", tool.Name)
			}
			for _, r := range s.Required {
				if s.Properties[r] == nil {
					t.Errorf("%s %s schema: required %q is not described", tool.Name, name, r)
				}
			}
		}
		if tool.Title == "" || tool.Description == "" || tool.Annotations.ReadOnly == nil || tool.Annotations.OpenWorld == nil {
			t.Errorf("%s: title, description or annotations are missing", tool.Name)
		}
	}
}
