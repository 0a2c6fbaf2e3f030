package channel

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
)

// frames reads an event stream; C gives each data line, and is closed at the end.
type frames struct {
	C <-chan string
	t *testing.T
}

// stream sends a request whose answer is an event stream. The stream ends with the test.
func (e *endpoint) stream(t *testing.T, method, body string, headers ...string) *frames {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, e.url+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		raw, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		t.Fatalf("%s %s: got %d %s %s, want an event stream", method, body, resp.StatusCode, got, raw)
	}
	c := make(chan string, 1000)
	go func() {
		defer close(c)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
				c <- data
			}
		}
	}()
	return &frames{c, t}
}

// next waits for a frame that holds all of want and returns it; others are passed over.
func (f *frames) next(want ...string) string {
	f.t.Helper()
	limit := time.After(10 * time.Second)
	var seen []string
frame:
	for {
		select {
		case data, ok := <-f.C:
			if !ok {
				f.t.Fatalf("the stream ended without %q; got %q", want, seen)
			}
			seen = append(seen, data)
			for _, w := range want {
				if !strings.Contains(data, w) {
					continue frame
				}
			}
			return data
		case <-limit:
			f.t.Fatalf("nothing with %q came; got %q", want, seen)
		}
	}
}

func chatCall(id, message, meta string) string {
	if meta != "" {
		meta = `,"_meta":{"progressToken":` + meta + `}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"chat","arguments":{"message":"%s"}%s}}`, id, message, meta)
}

// Whoever subscribed to a chat hears of its messages on the GET stream, in the words it used for the chat, also when
// somebody else writes there.
func TestSubscriptionsHearOfRealChats(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	e.models.Handle(func(*modeltest.Request) modeltest.Script { return modeltest.Script{Chunks: []string{"answer"}} })
	id := e.initialize(t)
	chat := session.NewKey(session.ChannelDesktop)
	for i, uri := range []string{
		uriSessions + "/desktop:" + chat.ID,
		uriSessions + "/agent:main:desktop:" + chat.ID,
		uriSessions + "/desktop%3A" + chat.ID,
		uriSessions + "/desktop:" + strings.ToUpper(chat.ID),
		uriSessions, uriTasks,
	} {
		watcher := e.initialize(t)
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", watcher)
		if r.status != 200 || !strings.Contains(r.body, `"result":{}`) {
			t.Fatalf("subscribing to %s: got %d %s", uri, r.status, r.body)
		}
		events := e.stream(t, http.MethodGet, "", "Mcp-Session-Id", watcher)
		if res := e.call(t, id, "chat", fmt.Sprintf(`{"message":"m%d","session_id":"%s"}`, i, chat)); res.text() != "answer" {
			t.Fatalf("chat: got %+v", res)
		}
		events.next(`"method":"notifications/resources/updated"`, `{"uri":"`+uri+`"}`)
	}
	for _, uri := range []string{"ionclaw://nothing", uriSessions + "/fax:1", uriTasks + "/"} {
		r := e.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", id)
		if !strings.Contains(r.body, "-32002") {
			t.Errorf("subscribing to %s: got %s, want -32002", uri, r.body)
		}
	}
}

// A changed configuration changes the list of agents.
func TestSubscriptionToAgentsHearsOfTheConfiguration(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	e.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uriAgents+`"}}`, "Mcp-Session-Id", id)
	events := e.stream(t, http.MethodGet, "", "Mcp-Session-Id", id)
	agent, err := e.app.Agent("main")
	if err != nil {
		t.Fatal(err)
	}
	agent.Description = "Something else"
	if err := e.app.PutAgent("main", agent); err != nil {
		t.Fatal(err)
	}
	events.next(uriAgents)
	if got := e.call(t, id, "list_agents", `{}`).text(); !strings.Contains(got, "Something else") {
		t.Errorf("list_agents: got %s", got)
	}
}

// initialize, then GET, then POST: all three are one session.
func TestGetAndPostShareTheSession(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	events := e.stream(t, http.MethodGet, "", "Mcp-Session-Id", id)
	waitFor(t, func() bool { c := e.channel.Clients(); return len(c) == 1 && c[0].Streaming })
	if res := e.call(t, id, "chat", `{"message":"hi"}`); res.IsError || res.Meta[metaSession] != "mcp:"+id {
		t.Errorf("chat: got %+v", res)
	}
	if c := e.channel.Clients(); len(c) != 1 || c[0].Session != id || c[0].Calls != 1 || c[0].Revision != "2025-11-25" {
		t.Errorf("clients: got %+v, want one with one call", c)
	}
	if r := e.send(t, http.MethodDelete, "", "Mcp-Session-Id", id); r.status != 204 {
		t.Errorf("DELETE: got %d %s", r.status, r.body)
	}
	select {
	case _, more := <-events.C:
		if more {
			t.Error("the stream went on after DELETE")
		}
	case <-time.After(5 * time.Second):
		t.Error("the stream did not end with the session")
	}
}

// A message behind others says where it stands, and each time it moves up.
func TestWaitingMessageSaysItsPosition(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	id := e.initialize(t)
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	for _, gate := range gates {
		e.models.Push(modeltest.Script{Chunks: []string{"done"}, Gate: gate})
	}
	first := e.stream(t, http.MethodPost, chatCall("1", "a", `"a"`), "Mcp-Session-Id", id)
	<-e.models.Started()
	second := e.stream(t, http.MethodPost, chatCall("2", "b", `"b"`), "Mcp-Session-Id", id)
	second.next("position 1", `"progressToken":"b"`)
	third := e.stream(t, http.MethodPost, chatCall("3", "c", `"c"`), "Mcp-Session-Id", id)
	third.next("position 2", `"progressToken":"c"`)
	waitFor(t, func() bool { // stored within moments
		return strings.Count(e.call(t, id, "list_tasks", `{"state":"queued"}`).text(), `"state": "queued"`) == 2
	})
	close(gates[0])
	first.next(`"id":1,"result"`, "done")
	third.next("position 1")
	close(gates[1])
	second.next(`"id":2,"result"`, "done")
	close(gates[2])
	if last := third.next(`"id":3,"result"`); strings.Contains(last, "isError") {
		t.Errorf("got %s", last)
	}
	for data := range third.C {
		t.Errorf("after the result: got %s, want nothing", data)
	}
}

// The message after the twentieth that waits is refused at once.
func TestTooManyWaitingMessages(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.start(t)
	id := e.initialize(t)
	e.models.Push(modeltest.Script{Hang: true})
	e.stream(t, http.MethodPost, chatCall("1", "same", `"a"`), "Mcp-Session-Id", id)
	<-e.models.Started()
	var waiting []*frames
	for i := range 20 { // identical messages are ordinary messages
		s := e.stream(t, http.MethodPost, chatCall(fmt.Sprint(i+2), "same", `"b"`), "Mcp-Session-Id", id)
		s.next(fmt.Sprintf("position %d ", i+1))
		waiting = append(waiting, s)
	}
	if res := e.call(t, id, "chat", `{"message":"one more"}`); !res.IsError || !strings.Contains(res.text(), "20 messages are waiting") {
		t.Errorf("the 21st: got %+v, want an error", res)
	}
	begin := time.Now()
	res := e.call(t, id, "abort", `{"session_id":"mcp:`+id+`"}`)
	if took := time.Since(begin); res.field(t, "status") != "aborted" || res.field(t, "session_id") != "mcp:"+id || took > time.Second {
		t.Errorf("abort: got %+v after %v", res, took)
	}
	for _, s := range waiting {
		s.next(`"isError":true`, "aborted")
	}
	if got := e.call(t, id, "list_tasks", `{"state":"stopped"}`).text(); !strings.Contains(got, `"count": 21`) {
		t.Errorf("stopped tasks: got %.200s, want 21", got)
	}
}

// Without a token the task's id is one, unless the configuration, read for each call, says no.
func TestProgressWithoutTokenCanBeSwitchedOff(t *testing.T) {
	e := open(t, t.TempDir(), "channels: {mcp: {progress_without_token: false}}\n"+offline)
	e.start(t)
	id := e.initialize(t)
	var list []string
	for data := range e.stream(t, http.MethodPost, chatCall("1", "hi", ""), "Mcp-Session-Id", id).C {
		list = append(list, data)
	}
	if len(list) != 1 || !strings.Contains(list[0], `"id":1,"result"`) {
		t.Errorf("got %q, want the result alone", list)
	}
}

// A client that goes away leaves its turn running; the answer is stored once.
func TestClientThatLeavesFindsItsAnswer(t *testing.T) {
	for _, accept := range []string{"application/json", "text/event-stream"} {
		e := open(t, t.TempDir(), scripted)
		e.start(t)
		id := e.initialize(t)
		gate := make(chan struct{})
		e.models.Push(modeltest.Script{Chunks: []string{"one ", "two"}, Gate: gate})
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+Path, strings.NewReader(chatCall("1", "q", `"t"`)))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", accept)
			req.Header.Set("Mcp-Session-Id", id)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		<-e.models.Started()
		gate <- struct{}{}
		leave()
		<-gone
		close(gate)
		waitFor(t, func() bool {
			return strings.Contains(e.call(t, id, "list_tasks", `{"state":"done"}`).text(), `"count": 1`)
		})
		if got := e.call(t, id, "get_session", `{"session_id":"`+id+`"}`).text(); strings.Count(got, `"one two"`) != 1 {
			t.Errorf("%s: history: got %s, want the answer once", accept, got)
		}
	}
}
