package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"ionclaw-tray/app"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

const (
	chatA   = "cli:11111111-2222-3333-4444-555555555555"
	unknown = "api:99999999-2222-3333-4444-555555555555"
)

func TestStatus(t *testing.T) {
	w := newWorld(t, testConfig)
	var s app.Status
	w.ok("GET", "/api/status", "", &s)
	if s.Version != "1.2.3" || s.Agents != 2 || s.MCP.Name != "mcp" || s.PID != os.Getpid() {
		t.Errorf("got %+v, want this program", s)
	}
	if s.MCP.Clients == nil || s.Problems == nil {
		t.Errorf("got clients %v and problems %v, want empty lists", s.MCP.Clients, s.Problems)
	}
}

func TestChannel(t *testing.T) {
	w := newWorld(t, testConfig)
	var s app.MCPStatus
	w.ok("GET", "/api/channels/mcp", "", &s)
	if s.Running || s.Enabled || s.Credential != "" || s.Clients == nil {
		t.Errorf("at first: got %+v", s)
	}
	if got := w.do("GET", "/api/channels/mcp", "").body; !strings.HasPrefix(got, `{"name":"mcp","enabled":false,"running":false,"require_auth":false,"credential":"","url":"`) ||
		!strings.HasSuffix(strings.TrimSpace(got), `,"clients":[]}`) {
		t.Errorf("shape: got %s", got)
	}
	w.ok("PUT", "/api/channels/mcp", `{"credential":"mcp_token","require_auth":true,"enabled":null}`, &s)
	if !s.RequireAuth || s.Credential != "mcp_token" || s.Enabled {
		t.Errorf("after PUT: got %+v", s)
	}
	if c := w.app.Config().Channels.MCP; !c.RequireAuth || c.Credential != "mcp_token" {
		t.Errorf("configuration after PUT: got %+v", c)
	}
	w.ok("PUT", "/api/channels/mcp", `{}`, &s)
	if !s.RequireAuth || s.Credential != "mcp_token" {
		t.Errorf("after an empty PUT: got %+v, want no change", s)
	}
	w.fails("PUT", "/api/channels/mcp", `{"require_auth":"yes"}`, app.CodeBadRequest, "require_auth: must be true or false, not string")
	w.fails("PUT", "/api/channels/mcp", `{"credential":7}`, app.CodeBadRequest, "credential: must be a text, not number")
	w.fails("PUT", "/api/channels/mcp", `{"credential":"nobody"}`, app.CodeNotFound, "credential", "nobody")
	w.fails("PUT", "/api/channels/mcp", `{"credential":"","require_auth":true}`, app.CodeBadRequest, "credential")
	w.fails("PUT", "/api/channels/mcp", `{"credential":""}`, app.CodeBadRequest, "credential", "require_auth")
	w.fails("PUT", "/api/channels/mcp", `{"port":1}`, app.CodeBadRequest, `"port"`, "enabled, require_auth, credential")

	w.fails("POST", "/api/channels/mcp/stop", "", app.CodeConflict)
	for _, step := range []struct{ path, want string }{{"start", "started"}, {"stop", "stopped"}} {
		var o outcome
		w.ok("POST", "/api/channels/mcp/"+step.path, `{}`, &o)
		if o.Status != step.want || w.channel.Running() != (step.path == "start") {
			t.Errorf("%s: got %q, running %v", step.path, o.Status, w.channel.Running())
		}
		w.fails("POST", "/api/channels/mcp/"+step.path, "", app.CodeConflict)
	}
	w.channel.startErr = &app.Error{Code: app.CodeNoCredential, Message: "no token", Hint: "make one"}
	w.fails("POST", "/api/channels/mcp/start", "", app.CodeNoCredential, "no token; make one")
}

func TestAgents(t *testing.T) {
	w := newWorld(t, testConfig)
	var l agentList
	w.ok("GET", "/api/agents", "", &l)
	if len(l.Agents) != 2 || l.Agents[0].Name != "coder" || l.Agents[1].Model != "builtin/offline" {
		t.Errorf("got %+v, want coder and main", l.Agents)
	}
	const body = `{"description":"d","model":"builtin/offline","instructions":"Line\n${HOME}","tools":["clock"],"max_iterations":3,"max_history":7,"params":{"temperature":0,"top_p":0.5,"max_tokens":9},"fallbacks":["ollama/llama3.2"]}`
	var put, got agentView
	w.ok("PUT", "/api/agents/new-one", body, &put)
	w.ok("GET", "/api/agents/new-one", "", &got)
	if fmt.Sprint(jsonOf(t, put)) != jsonOf(t, got) {
		t.Errorf("PUT answered %s, GET %s", jsonOf(t, put), jsonOf(t, got))
	}
	if want := strings.Replace(body, "{", `{"name":"new-one",`, 1); jsonOf(t, got) != want {
		t.Errorf("got  %s\nwant %s", jsonOf(t, got), want)
	}
	got = agentView{}
	w.ok("PUT", "/api/agents/new-one", `{}`, &got)
	if want := `{"name":"new-one","description":"","model":"builtin/offline","instructions":"","tools":[],"max_iterations":40,"max_history":100,"params":{},"fallbacks":[]}`; jsonOf(t, got) != want {
		t.Errorf("all defaults: got %s\nwant %s", jsonOf(t, got), want)
	}
	w.fails("GET", "/api/agents/nobody", "", app.CodeNotFound, "nobody")
	w.fails("GET", "/api/agents/a%2Fb", "", app.CodeNotFound, "a/b")
	w.fails("DELETE", "/api/agents/nobody", "", app.CodeNotFound, "nobody")
	w.fails("PUT", "/api/agents/a%20b", `{}`, app.CodeInvalidConfig, "a b")
	w.fails("PUT", "/api/agents/main", `{"max_iterations":0}`, app.CodeBadRequest, "max_iterations: must be at least 1")
	w.fails("PUT", "/api/agents/main", `{"max_history":-1}`, app.CodeBadRequest, "max_history: must be at least 1")
	w.fails("PUT", "/api/agents/main", `{"params":{"temperature":3}}`, app.CodeInvalidConfig, "temperature")
	w.fails("PUT", "/api/agents/main", `{"model":"nowhere/x"}`, app.CodeInvalidConfig, "nowhere")
	w.fails("PUT", "/api/agents/main", `{"params":{"top_k":1}}`, app.CodeBadRequest, "top_k")
	w.fails("PUT", "/api/agents/main", `{"name":"main"}`, app.CodeBadRequest, `"name"`)
	w.fails("PUT", "/api/agents/main", `{"tools":"clock"}`, app.CodeBadRequest, "tools: must be a list, not string")
	w.fails("PUT", "/api/agents/main", `{"params":{"top_p":"x"}}`, app.CodeBadRequest, "params.top_p: must be a number, not string")
	w.fails("PUT", "/api/agents/main", `{"max_history":1.5}`, app.CodeBadRequest, "max_history: must be a whole number, not number")

	for _, name := range []string{"new-one", "coder"} {
		var o outcome
		if w.ok("DELETE", "/api/agents/"+name, "", &o); o.Status != "deleted" {
			t.Errorf("deleting %s: got %q", name, o.Status)
		}
	}
	w.fails("DELETE", "/api/agents/main", "", app.CodeConflict, "only one")
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSessions(t *testing.T) {
	w := newWorld(t, testConfig)
	empty := w.do("GET", "/api/sessions", "")
	if want := `{"sessions":[]}`; strings.TrimSpace(empty.body) != want {
		t.Errorf("no chats: got %s, want %s", empty.body, want)
	}
	for i := range 5 {
		w.ok("POST", "/api/sessions/new/messages", fmt.Sprintf(`{"message":"Äpfel %d","agent":"main"}`, i), nil)
	}
	w.ok("POST", "/api/sessions/"+chatA+"/messages", `{"message":"from a terminal","agent":"main","channel":"cli"}`, nil)

	var all []session.Info
	next := ""
	for pages := 1; ; pages++ {
		var page sessionList
		w.ok("GET", "/api/sessions?limit=4&cursor="+url.QueryEscape(next), "", &page)
		all = append(all, page.Sessions...)
		if next = page.Next; next == "" {
			if pages != 2 {
				t.Errorf("got %d pages, want 2", pages)
			}
			break
		}
	}
	if len(all) != 6 || all[0].Key.String() != chatA || all[1].DisplayName != "Äpfel 4" {
		t.Errorf("got %+v, want six chats, the newest first", all)
	}
	for query, want := range map[string]int{"channel=api": 5, "channel=cli": 1, "channel=mcp": 0, "query=apfel": 5, "query=APFEL+3": 1, "query=TERMINAL&channel=cli": 1, "channel=&query=": 6, "limit=1000": 6} {
		var page sessionList
		if w.ok("GET", "/api/sessions?"+query, "", &page); len(page.Sessions) != want {
			t.Errorf("%s: got %d chats, want %d", query, len(page.Sessions), want)
		}
	}
	w.fails("GET", "/api/sessions?channel=fax", "", app.CodeBadRequest, "channel", "fax", "desktop")
	w.fails("GET", "/api/sessions?limit=1001", "", app.CodeBadRequest, "limit", "from 1 to 1000", "1001")
	w.fails("GET", "/api/sessions?cursor=nonsense", "", app.CodeBadRequest, "cursor")
	w.fails("GET", "/api/sessions?query="+strings.Repeat("x", store.MaxQuery+1), "", app.CodeBadRequest, "query", "1024")
}

func TestSession(t *testing.T) {
	w := newWorld(t, testConfig)
	path := "/api/sessions/" + chatA
	for i := range 3 {
		w.ok("POST", path+"/messages", fmt.Sprintf(`{"message":"question %d","agent":"main"}`, i), nil)
	}
	var v sessionView
	w.ok("GET", path, "", &v)
	if v.Key.String() != chatA || v.Channel != "cli" || v.DisplayName != "question 0" || len(v.Messages) != 6 || v.Messages[4].Content != "question 2" {
		t.Errorf("got %+v", v)
	}
	w.ok("GET", path+"?limit=2&before=4", "", &v)
	if len(v.Messages) != 2 || v.Messages[0].Seq != 2 || v.Messages[1].Seq != 3 {
		t.Errorf("before 4: got %+v, want the messages 2 and 3", v.Messages)
	}
	got := w.do("GET", path+"?before=1", "")
	if !strings.Contains(got.body, `"messages":[]`) {
		t.Errorf("before the first: got %s, want an empty list", got.body)
	}
	// Every form of the id names the same chat.
	for _, form := range []string{"agent:main:" + chatA, "agent%3Amain%3A" + url.QueryEscape(chatA), strings.ToUpper(chatA[4:])} {
		if form == strings.ToUpper(chatA[4:]) {
			form = "cli:" + form
		}
		if w.ok("GET", "/api/sessions/"+form, "", &v); v.Key.String() != chatA {
			t.Errorf("%s: got %s, want %s", form, v.Key, chatA)
		}
	}
	w.fails("GET", path+"?limit=1001", "", app.CodeBadRequest, "limit", "from 1 to 1000")
	w.fails("GET", "/api/sessions/"+unknown, "", app.CodeNotFound, unknown)
	for _, method := range []string{"GET", "DELETE"} {
		w.fails(method, "/api/sessions/nonsense", "", app.CodeBadRequest, "nonsense")
	}
	w.fails("PATCH", "/api/sessions/nonsense", `{"display_name":"x"}`, app.CodeBadRequest, "nonsense")
	w.fails("POST", "/api/sessions/nonsense/abort", "", app.CodeBadRequest, "nonsense")

	var info session.Info
	w.ok("PATCH", path, `{"display_name":" A  better name "}`, &info)
	if info.DisplayName != "A better name" || info.Messages != 6 {
		t.Errorf("renamed: got %+v", info)
	}
	w.fails("PATCH", path, `{"display_name":" \u200b "}`, app.CodeBadRequest, "name")
	w.fails("PATCH", path, `{}`, app.CodeBadRequest, "name")
	w.fails("PATCH", "/api/sessions/"+unknown, `{"display_name":"x"}`, app.CodeNotFound)

	for _, step := range []struct{ method, path, want string }{
		{"POST", path + "/abort", "no_active_turn"},
		{"POST", "/api/sessions/" + unknown + "/abort", "no_active_turn"},
		{"DELETE", path, "deleted"},
		{"DELETE", path, "not_found"},
	} {
		var o outcome
		if w.ok(step.method, step.path, "", &o); o.Status != step.want {
			t.Errorf("%s %s: got %q, want %q", step.method, step.path, o.Status, step.want)
		}
	}
	w.fails("GET", path, "", app.CodeNotFound)
}

// An export holds the whole chat, in the form that was asked for.
func TestExport(t *testing.T) {
	w := newWorld(t, testConfig)
	path := "/api/sessions/" + chatA
	for i := range 3 {
		w.ok("POST", path+"/messages", fmt.Sprintf(`{"message":"question %d","agent":"main"}`, i), nil)
	}
	file := strings.Replace(chatA, ":", "-", 1)
	for query, want := range map[string]struct{ kind, file, begin string }{
		"":                 {"text/markdown; charset=utf-8", file + ".md", "# question 0\n"},
		"?format=markdown": {"text/markdown; charset=utf-8", file + ".md", "# question 0\n"},
		"?format=json":     {"application/json", file + ".json", `{"key":"` + chatA + `"`},
	} {
		got := w.do("GET", path+"/export"+query, "")
		if got.code != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), want.kind) || !strings.HasPrefix(got.body, want.begin) ||
			got.header.Get("Content-Disposition") != `attachment; filename="`+want.file+`"` {
			t.Errorf("%s: got %d %v %.100s", query, got.code, got.header, got.body)
		}
		if first, last := strings.Index(got.body, "question 0"), strings.LastIndex(got.body, "question 2"); first < 0 || last < first {
			t.Errorf("%s: got %s, want all messages in order", query, got.body)
		}
	}
	w.fails("GET", path+"/export?format=pdf", "", app.CodeBadRequest, "format", "markdown", "json")
	w.fails("GET", "/api/sessions/"+unknown+"/export", "", app.CodeNotFound, unknown)
	w.fails("GET", "/api/sessions/nonsense/export", "", app.CodeBadRequest, "nonsense")
}

func TestTasks(t *testing.T) {
	w := newWorld(t, testConfig)
	if got, want := w.do("GET", "/api/tasks", ""), `{"tasks":[]}`; strings.TrimSpace(got.body) != want {
		t.Errorf("no tasks: got %s, want %s", got.body, want)
	}
	w.ok("POST", "/api/sessions/"+chatA+"/messages", `{"message":"one","agent":"main"}`, nil)
	w.ok("POST", "/api/sessions/new/messages", `{"message":"two","agent":"coder"}`, nil)
	w.ok("POST", "/api/sessions/new/messages", `{"message":"three","agent":"main"}`, nil)
	for query, want := range map[string]int{"": 3, "state=done": 3, "state=error": 0, "agent=coder": 1, "agent=nobody": 0, "session_id=" + chatA: 1, "session_id=" + unknown: 0, "limit=2": 2, "limit=500": 3} {
		var l taskList
		w.ok("GET", "/api/tasks?"+query, "", &l)
		if len(l.Tasks) != want || (l.Next != "") != (query == "limit=2") {
			t.Errorf("%q: got %d tasks and cursor %q, want %d", query, len(l.Tasks), l.Next, want)
		}
	}
	var first, second taskList
	w.ok("GET", "/api/tasks?limit=2", "", &first)
	w.ok("GET", "/api/tasks?limit=2&cursor="+url.QueryEscape(first.Next), "", &second)
	if len(second.Tasks) != 1 || second.Tasks[0].Title != "one" || first.Tasks[0].Title != "three" {
		t.Errorf("got %+v and %+v, want three, two and then one", first.Tasks, second.Tasks)
	}
	w.fails("GET", "/api/tasks?limit=501", "", app.CodeBadRequest, "limit", "from 1 to 500")
	w.fails("GET", "/api/tasks?state=finished", "", app.CodeBadRequest, "state", "finished", "interrupted")
	w.fails("GET", "/api/tasks?session_id=x", "", app.CodeBadRequest, "session_id")
	w.fails("GET", "/api/tasks?cursor=x", "", app.CodeBadRequest, "cursor")
	w.fails("GET", "/api/tasks?state=done&cursor="+url.QueryEscape(first.Next), "", app.CodeBadRequest, "cursor")

	id := second.Tasks[0].ID
	var got task.Task
	if w.ok("GET", "/api/tasks/"+id, "", &got); got.ID != id || got.State != task.Done || got.SessionID.String() != chatA {
		t.Errorf("got %+v", got)
	}
	var o outcome
	if w.ok("POST", "/api/tasks/"+id+"/abort", "", &o); o.Status != "not_running" {
		t.Errorf("aborting what is over: got %q, want not_running", o.Status)
	}
	w.fails("GET", "/api/tasks/nothing", "", app.CodeNotFound, "nothing")
	w.fails("POST", "/api/tasks/nothing/abort", "", app.CodeNotFound, "nothing")
}

func TestCredentials(t *testing.T) {
	w := newWorld(t, testConfig)
	var l credentialList
	w.ok("GET", "/api/credentials", "", &l)
	if len(l.Credentials) != 1 || l.Credentials[0].Name != "mcp_token" {
		t.Errorf("got %+v, want mcp_token", l.Credentials)
	}
	w.fails("POST", "/api/credentials/mcp_token/reveal", "", app.CodeNoCredential, "mcp_token")

	made := w.do("POST", "/api/credentials/mcp_token/generate", "")
	key, err := w.keys.Get("mcp_token")
	if want := `{"name":"mcp_token","status":"generated"}`; err != nil || made.code != 200 || strings.TrimSpace(made.body) != want {
		t.Fatalf("generating: got %d %s, %v; want %s", made.code, made.body, err, want)
	}
	revealed := w.do("POST", "/api/credentials/mcp_token/reveal", "")
	if revealed.body != jsonOf(t, credentialKey{key})+"\n" || revealed.header.Get("Cache-Control") != "no-store" {
		t.Errorf("revealing: got another key, or an answer that may be kept: %v", revealed.header)
	}
	w.ok("PUT", "/api/credentials/other.one", `{"key":"k<&>é"}`, nil)
	var k credentialKey
	if w.ok("POST", "/api/credentials/other.one/reveal", "", &k); k.Key != "k<&>é" {
		t.Errorf("got another key back than was stored")
	}
	listed := w.do("GET", "/api/credentials", "")
	if strings.Contains(listed.body, key) || strings.Contains(listed.body, "k<") || !strings.Contains(listed.body, "other.one") {
		t.Errorf("the list holds a key, or lacks the new credential: %s", listed.body)
	}

	w.fails("PUT", "/api/credentials/x", `{"key":""}`, app.CodeBadRequest, "empty")
	w.fails("PUT", "/api/credentials/x", `{}`, app.CodeBadRequest, "empty")
	w.fails("PUT", "/api/credentials/x", `{"key":12345678}`, app.CodeBadRequest, "key: must be a text, not number")
	w.fails("PUT", "/api/credentials/a%2Fb", `{"key":"x"}`, app.CodeBadRequest, "a/b")
	w.fails("POST", "/api/credentials/a%20b/generate", "", app.CodeBadRequest, "a b")
	big := w.do("PUT", "/api/credentials/x", `{"key":"`+strings.Repeat("s", secret.MaxKey+1)+`"}`)
	if e := big.problem(t); big.code != 413 || strings.Contains(e.Message, "sss") {
		t.Errorf("key that is too big: got %d %s, want 413 without the key", big.code, big.body)
	}

	w.ok("PUT", "/api/channels/mcp", `{"credential":"mcp_token"}`, nil)
	w.fails("DELETE", "/api/credentials/mcp_token", "", app.CodeConflict, "channels.mcp")
	var o outcome
	if w.ok("DELETE", "/api/credentials/other.one", "", &o); o.Status != "deleted" {
		t.Errorf("deleting: got %q", o.Status)
	}
	w.fails("DELETE", "/api/credentials/other.one", "", app.CodeNoCredential)
}

// failing is a core whose every answer is an error.
type failing struct {
	*mute
	err error
}

func (f failing) StopMCP(context.Context) error { return f.err }

func TestErrorsOfTheCore(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code app.Code
	}{
		{&app.Error{Code: app.CodeBusy, Message: "m", Hint: "h"}, app.CodeBusy},
		{fmt.Errorf("wrapped: %w", &app.Error{Code: app.CodeStorage, Message: "m"}), app.CodeStorage},
		{store.ErrNotFound, app.CodeNotFound},
		{errors.New("something else <&>"), app.CodeInternal},
		{context.Canceled, app.CodeInternal}, // not that of the request
	} {
		w := serveCore(t, failing{newMute(), tc.err})
		got := w.do("POST", "/api/channels/mcp/stop", "")
		var p problem
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.code != tc.code.HTTPStatus() || p.Error.Code != tc.code {
			t.Errorf("%v: got %d %s, want %d %s", tc.err, got.code, got.body, tc.code.HTTPStatus(), tc.code)
		}
	}
}

func TestAStoppingProgramSaysSo(t *testing.T) {
	stopping := errors.New("the server is shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopping)
	for cause, want := range map[error]int{stopping: 503, context.Canceled: 200} { // to a client that has left nothing is written
		a := newAPI(failing{newMute(), cause}, testToken, nil)
		r := httptest.NewRequest("POST", "http://127.0.0.1/api/channels/mcp/stop", nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		if cause == context.Canceled {
			gone, leave := context.WithCancel(t.Context())
			leave()
			r = r.WithContext(gone)
		} else {
			r = r.WithContext(ctx)
		}
		rec := httptest.NewRecorder()
		a.ServeHTTP(rec, r)
		if rec.Code != want || (want == 200) != (rec.Body.Len() == 0) {
			t.Errorf("%v: got %d %s, want %d", cause, rec.Code, rec.Body, want)
		}
	}
}
