package channel

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
	"ionclaw-tray/app/tool"
	"ionclaw-tray/server/mcp"
)

// keysOf lists the members of a JSON object in their order.
func keysOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	var keys []string
	for depth, key := 0, true; dec.More() || depth > 0; {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		switch d := tok.(type) {
		case json.Delim:
			if d == '{' || d == '[' {
				depth++
			} else {
				depth--
			}
			key = true
			continue
		case string:
			if depth == 1 && key {
				keys = append(keys, d)
				key = false
				continue
			}
		}
		key = true
	}
	return strings.Join(keys, " ")
}

var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// One chat, and what every tool then says of it, member by member.
func TestShapesOfResults(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	id := e.initialize(t)
	e.models.Push(modeltest.Script{Chunks: []string{"a < b"}, Usage: &session.Usage{Input: 7, Output: 3}})
	question := "Please tell me which of these two numbers is the larger one, and why"
	chat := e.call(t, id, "chat", `{"message":"`+question+`"}`)
	if chat.IsError || chat.text() != "a < b" || chat.Structured != nil {
		t.Fatalf("chat: got %+v, want the plain answer", chat)
	}
	taskID, _ := chat.Meta[metaTask].(string)
	usage, _ := json.Marshal(chat.Meta[metaUsage])
	if chat.Meta[metaSession] != "mcp:"+id || chat.Meta[metaAgent] != "main" || len(taskID) != 36 || len(chat.Meta) != 4 ||
		string(usage) != `{"cache_read":0,"cache_write":0,"input":7,"output":3}` {
		t.Errorf("_meta: got %v", chat.Meta)
	}

	for _, c := range []struct{ tool, args, keys string }{
		{"list_sessions", `{}`, "sessions count"},
		{"get_session", `{"session_id":"agent:main:mcp:` + id + `"}`, "key messages created_at updated_at"},
		{"list_agents", `{}`, "agents"},
		{"list_tasks", `{}`, "tasks count"},
		{"get_task", `{"task_id":"` + taskID + `"}`, "id title description state channel session_id agent created_at started_at updated_at completed_at result iteration_count tool_count usage"},
		{"abort", `{"session_id":"` + id + `"}`, "status session_id"},
	} {
		res := e.call(t, id, c.tool, c.args)
		if got := keysOf(t, res.Structured); res.IsError || got != c.keys {
			t.Errorf("%s: got members %q, want %q", c.tool, got, c.keys)
		}
		var v any
		if err := json.Unmarshal(res.Structured, &v); err != nil {
			t.Fatal(err)
		}
		var fromText any
		if err := json.Unmarshal([]byte(res.text()), &fromText); err != nil || fmt.Sprint(fromText) != fmt.Sprint(v) || !strings.HasPrefix(res.text(), "{\n  \"") {
			t.Errorf("%s: the text is not the object with two spaces: %s", c.tool, res.text())
		}
	}

	var sessions struct{ Sessions []json.RawMessage }
	var tasks struct{ Tasks []json.RawMessage }
	var messages struct{ Messages []json.RawMessage }
	var agents struct{ Agents []json.RawMessage }
	rows := []struct {
		tool, args string
		into       any
		list       *[]json.RawMessage
		want       string
	}{
		{"list_sessions", `{}`, &sessions, &sessions.Sessions, "key channel display_name created_at updated_at"},
		{"list_tasks", `{}`, &tasks, &tasks.Tasks, "id title state channel created_at result"},
		{"get_session", `{"session_id":"` + id + `"}`, &messages, &messages.Messages, "seq role content timestamp"},
		{"list_agents", `{}`, &agents, &agents.Agents, "name description model"},
	}
	for _, r := range rows {
		if err := json.Unmarshal(e.call(t, id, r.tool, r.args).Structured, r.into); err != nil {
			t.Fatal(err)
		}
		if len(*r.list) == 0 || keysOf(t, (*r.list)[0]) != r.want {
			t.Errorf("%s: got row %s, want members %q", r.tool, *r.list, r.want)
		}
	}
	var row struct {
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	if err := json.Unmarshal(sessions.Sessions[0], &row); err != nil || row.DisplayName != session.DisplayName(question) ||
		!strings.HasSuffix(row.DisplayName, "...") || !stamp.MatchString(row.CreatedAt) {
		t.Errorf("row of the chat: got %+v, %v", row, err)
	}
	var k map[string]any
	if err := json.Unmarshal(e.call(t, id, "get_task", `{"task_id":"`+taskID+`"}`).Structured, &k); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"created_at", "started_at", "updated_at", "completed_at"} {
		if at, _ := k[name].(string); !stamp.MatchString(at) {
			t.Errorf("%s: got %v, want RFC 3339 in UTC with milliseconds", name, k[name])
		}
	}
	if k["state"] != "done" || k["result"] != "a < b" || k["session_id"] != "mcp:"+id || k["iteration_count"] != 1.0 {
		t.Errorf("task: got %v", k)
	}
	if got := e.call(t, id, "delete_session", `{"session_id":"`+id+`"}`); got.field(t, "status") != "deleted" || got.field(t, "session_id") != "mcp:"+id {
		t.Errorf("delete_session: got %+v", got)
	}
}

// Cursors lead through both lists without a gap or a repetition, newest first.
func TestCursorsLeadThroughTheLists(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	const chats = 7
	for i := range chats {
		if res := e.call(t, id, "chat", fmt.Sprintf(`{"message":"m%d","session_id":"%s"}`, i, session.NewKey("mcp").ID)); res.IsError {
			t.Fatalf("chat: %+v", res)
		}
	}
	for tool, name := range map[string]string{"list_sessions": "display_name", "list_tasks": "title"} {
		var got []string
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			if pages > chats {
				t.Fatalf("%s: no end of pages", tool)
			}
			args := `{"limit":3}`
			if cursor != "" {
				args = `{"limit":3,"cursor":"` + cursor + `"}`
			}
			var page struct {
				Sessions, Tasks []map[string]any
				Count           int
				Next            string `json:"next_cursor"`
			}
			if err := json.Unmarshal(e.call(t, id, tool, args).Structured, &page); err != nil {
				t.Fatal(err)
			}
			rows := append(page.Sessions, page.Tasks...)
			if page.Count != len(rows) || len(rows) > 3 {
				t.Errorf("%s: got count %d for %d rows", tool, page.Count, len(rows))
			}
			for _, r := range rows {
				got = append(got, r[name].(string))
			}
			cursor = page.Next
		}
		if fmt.Sprint(got) != "[m6 m5 m4 m3 m2 m1 m0]" {
			t.Errorf("%s: got %v, want all of them, newest first", tool, got)
		}
	}
	if got := e.call(t, id, "list_sessions", `{"query":"M4"}`).text(); !strings.Contains(got, `"count": 1`) {
		t.Errorf("search: got %s, want the one chat", got)
	}
	if got := e.call(t, id, "list_sessions", `{"channel":"desktop"}`).text(); !strings.Contains(got, `"count": 0`) {
		t.Errorf("other channel: got %s, want none", got)
	}
}

func TestCompletion(t *testing.T) {
	e := open(t, t.TempDir(), "agents: {main: {description: a}, mason: {description: b}, poet: {description: c}}\n")
	e.start(t)
	id := e.initialize(t)
	res := e.call(t, id, "chat", `{"message":"Complete me","agent":"main"}`)
	taskID, _ := res.Meta[metaTask].(string)
	for _, c := range []struct{ ref, value, want string }{
		{uriAgents, "ma", `["main","mason"]`},
		{uriAgents, "", `["main","mason","poet"]`},
		{uriSessions + "/{id}", id[:6], `["mcp:` + id + `"]`},
		{uriSessions + "/{id}", "mcp:", `["mcp:` + id + `"]`},
		{uriSessions + "/{id}", "complete", `["mcp:` + id + `"]`},
		{uriSessions + "/{id}", "nothing like it", `[]`},
		{uriTasks + "/{id}", taskID[:8], `["` + taskID + `"]`},
	} {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"`+c.ref+
			`"},"argument":{"name":"id","value":"`+c.value+`"}}}`, "Mcp-Session-Id", id)
		if !strings.Contains(r.body, `"values":`+c.want+`,`) || !strings.Contains(r.body, `"hasMore":false`) {
			t.Errorf("%s %q: got %s, want %s", c.ref, c.value, r.body, c.want)
		}
	}
	for _, ref := range []string{`{"type":"ref/prompt","name":"x"}`, `{"type":"ref/resource","uri":"ionclaw://fax/{id}"}`} {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":`+ref+`,"argument":{"name":"id","value":""}}}`, "Mcp-Session-Id", id)
		if !strings.Contains(r.body, "-32602") {
			t.Errorf("%s: got %s, want -32602", ref, r.body)
		}
	}
}

// The same sentence reaches the caller, the task and the transcript; the provider's own words reach none of them.
func TestFailureIsOneSentenceEverywhere(t *testing.T) {
	const sentence = "Authentication failed for model 'test/m'. Please check that the API key is valid and has the required permissions."
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	id := e.initialize(t)
	e.models.Push(modeltest.Script{Status: 401, Body: `{"error":{"message":"provider words"}}`})
	res := e.call(t, id, "chat", `{"message":"q"}`)
	taskID, _ := res.Meta[metaTask].(string)
	if !res.IsError || res.text() != sentence || res.Meta[metaAgent] != "main" {
		t.Errorf("result: got %+v, want %q", res, sentence)
	}
	k := e.call(t, id, "get_task", `{"task_id":"`+taskID+`"}`)
	if k.field(t, "error_message") != sentence || k.field(t, "error_class") != "authentication" || k.field(t, "state") != "error" {
		t.Errorf("task: got %s", k.text())
	}
	for _, tool := range []string{"get_session", "list_tasks"} {
		args := map[string]string{"get_session": `{"session_id":"` + id + `"}`, "list_tasks": `{}`}[tool]
		if got := e.call(t, id, tool, args).text(); !strings.Contains(got, sentence) || strings.Contains(got, "provider words") {
			t.Errorf("%s: got %s, want the sentence alone", tool, got)
		}
	}
}

// A transient failure is tried again; a model that keeps failing is replaced by the agent's fallback.
func TestRetryAndFallbackAnswerTheCall(t *testing.T) {
	e := open(t, t.TempDir(), strings.Replace(scripted, "model: test/m,", "model: test/m, fallbacks: [test/second],", 1))
	e.start(t)
	id := e.initialize(t)
	e.models.Push(modeltest.Script{Status: 503}, modeltest.Script{Chunks: []string{"again"}})
	if res := e.call(t, id, "chat", `{"message":"q"}`); res.text() != "again" {
		t.Errorf("one failure: got %+v, want the answer of the retry", res)
	}
	e.models.Handle(func(r *modeltest.Request) modeltest.Script {
		if r.Model == "m" {
			return modeltest.Script{Status: 404, Body: `{"error":{"code":"model_not_found","message":"no"}}`}
		}
		return modeltest.Script{Chunks: []string{"from ", r.Model}}
	})
	if res := e.call(t, id, "chat", `{"message":"q"}`); res.text() != "from second" {
		t.Errorf("the model fails: got %+v, want the answer of the fallback", res)
	}
}

// An abort in mid-answer: within 100 ms the call has its result, with what was received, and the task says stopped.
func TestAbortedCallKeepsWhatWasReceived(t *testing.T) {
	for _, how := range []string{"tool", "notification"} {
		e := open(t, t.TempDir(), scripted)
		e.start(t)
		id := e.initialize(t)
		e.models.Push(modeltest.Script{Chunks: []string{"first part", "never"}, Gate: oneOf(make(chan struct{}, 1))})
		events := e.stream(t, http.MethodPost, chatCall("5", "q", `"t"`), "Mcp-Session-Id", id)
		events.next("notifications/progress", "first part")
		begin := time.Now()
		if how == "tool" {
			if got := e.call(t, e.initialize(t), "abort", `{"session_id":"mcp:`+id+`"}`); got.field(t, "status") != "aborted" {
				t.Errorf("abort: got %+v", got)
			}
			if got := events.next(`"id":5,"result"`); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "aborted") || !strings.Contains(got, "first part") {
				t.Errorf("result: got %s", got)
			}
		} else {
			e.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, "Mcp-Session-Id", id)
			for data := range events.C { // a cancelled request has no response
				t.Errorf("after the cancellation: got %s", data)
			}
		}
		waitFor(t, func() bool {
			page, err := e.app.Tasks(store.TaskQuery{State: task.Stopped})
			return err == nil && len(page.Tasks) == 1 && page.Tasks[0].Result == "first part"
		})
		if took := time.Since(begin); took > time.Second {
			t.Errorf("%s: took %v, want far less than a second", how, took)
		}
	}
}

// oneOf gives the right for one piece.
func oneOf(c chan struct{}) <-chan struct{} {
	c <- struct{}{}
	return c
}

// impatient is the core with agents that are given up after a short silence.
type impatient struct {
	*app.App
	agents *agent.Runtime
}

func (i impatient) Chat(req app.ChatRequest) (*agent.Turn, error) {
	return i.agents.Start(agent.Request(req))
}

// Silence of the agent ends the call in both modes, with a result that says so and holds what came before, and the
// model request ends with it. The real limit is five minutes.
func TestSilentAgentEndsTheCall(t *testing.T) {
	if agent.IdleLimit != 300*time.Second || mcp.DefaultIdleLimit != agent.IdleLimit {
		t.Errorf("limits: got %s and %s, want 300s", agent.IdleLimit, mcp.DefaultIdleLimit)
	}
	e := open(t, t.TempDir(), scripted)
	router := model.NewRouter(e.app.Config(), nil, slog.New(slog.DiscardHandler))
	tools, err := tool.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	agents := agent.New(agent.Options{Store: e.app.Store(), Events: e.app.Events(), Config: e.app.Config, Tools: tools,
		Models: func() agent.Models { return router }, Log: slog.New(slog.DiscardHandler), Idle: 100 * time.Millisecond})
	server := mcp.New(mcp.Options{Info: mcp.Info{Name: "ionclaw"}, Tools: Tools(impatient{e.app, agents})})
	srv := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close(nil)
		srv.Close()
		if err := agents.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	direct := &endpoint{app: e.app, models: e.models, url: srv.URL}
	id := direct.initialize(t)
	for _, accept := range []string{"application/json", "text/event-stream"} {
		e.models.Push(modeltest.Script{Chunks: []string{"a word", "never"}, Gate: oneOf(make(chan struct{}, 1))})
		r := direct.post(t, chatCall("1", "q", `"t"`), "Mcp-Session-Id", id, "Accept", accept)
		if !strings.Contains(r.body, `"isError":true`) || !strings.Contains(r.body, "silent for 100ms") || !strings.Contains(r.body, "a word") {
			t.Errorf("%s: got %s", accept, r.body)
		}
		select {
		case <-(<-e.models.Started()).Gone():
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the model request went on", accept)
		}
	}
	if page, err := e.app.Tasks(store.TaskQuery{State: task.Failed}); err != nil || len(page.Tasks) != 2 || page.Tasks[0].ErrorClass != agent.ClassIdle {
		t.Errorf("tasks: got %+v, %v", page.Tasks, err)
	}
}

// Resources hold what the tools return, whatever form of a key the URI has; what is not there is unknown.
func TestResourcesHoldWhatToolsReturn(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	taskID, _ := e.call(t, id, "chat", `{"message":"hi"}`).Meta[metaTask].(string)
	read := func(uri string) (string, string) {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", id)
		var out struct {
			Result struct {
				Contents []struct{ URI, MIMEType, Text string }
			}
		}
		if err := json.Unmarshal([]byte(r.body), &out); err != nil || len(out.Result.Contents) != 1 {
			return "", r.body
		}
		c := out.Result.Contents[0]
		if c.URI != uri || c.MIMEType != "application/json" {
			t.Errorf("%s: got contents of %s as %s", uri, c.URI, c.MIMEType)
		}
		return c.Text, r.body
	}
	chat := `{"session_id":"` + id + `"}`
	for _, c := range []struct{ uri, tool, args string }{
		{uriSessions, "list_sessions", `{}`},
		{uriAgents, "list_agents", `{}`},
		{uriTasks, "list_tasks", `{}`},
		{uriTasks + "/" + taskID, "get_task", `{"task_id":"` + taskID + `"}`},
		{uriSessions + "/" + id, "get_session", chat},
		{uriSessions + "/mcp:" + id, "get_session", chat},
		{uriSessions + "/mcp%3A" + id, "get_session", chat},
		{uriSessions + "/agent:main:mcp:" + id, "get_session", chat},
	} {
		if got, body := read(c.uri); got != string(e.call(t, id, c.tool, c.args).Structured) {
			t.Errorf("%s: got %s, want what %s returns", c.uri, body, c.tool)
		}
	}
	for _, uri := range []string{
		"ionclaw://nothing", "", "http://127.0.0.1/", uriSessions + "/", uriSessions + "/nope", uriSessions + "/desktop:" + id,
		uriSessions + "/" + session.NewKey("mcp").ID, uriTasks + "/", uriTasks + "/42",
	} {
		if _, body := read(uri); !strings.Contains(body, `"error":{"code":-32002`) {
			t.Errorf("%q: got %s, want -32002", uri, body)
		}
	}
	for method, want := range map[string][]string{
		"resources/list":           {`"uri":"ionclaw://sessions"`, `"uri":"ionclaw://agents"`, `"uri":"ionclaw://tasks"`},
		"resources/templates/list": {`"uriTemplate":"ionclaw://sessions/{id}"`, `"uriTemplate":"ionclaw://tasks/{id}"`},
	} {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "Mcp-Session-Id", id)
		for _, w := range append(want, `"name":`, `"title":`, `"description":`, `"mimeType":"application/json"`) {
			if !strings.Contains(r.body, w) {
				t.Errorf("%s: got %s, want %s in it", method, r.body, w)
			}
		}
	}
}
