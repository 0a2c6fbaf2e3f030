package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ionclaw-tray/app"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

func asStream(r *http.Request) { r.Header.Set("Accept", "text/event-stream") }

// newTalkingWorld has a model that does what scripts say.
func newTalkingWorld(t *testing.T) (*world, *modeltest.Server) {
	t.Helper()
	m := modeltest.New(t)
	return newWorld(t, `
providers:
  test: {base_url: "`+m.OpenAIURL()+`", type: openai}
agents:
  main: {model: test/m}
`), m
}

func TestMessageAsJSON(t *testing.T) {
	w, m := newTalkingWorld(t)
	m.Push(modeltest.Script{Chunks: []string{"Hel", "lo <b>"}, Usage: &session.Usage{Input: 7, Output: 2}})
	var r turnResult
	w.ok("POST", "/api/sessions/new/messages", `{"message":"hi"}`, &r)
	want := turnResult{Session: r.Session, TaskID: r.TaskID, Agent: "main", Text: "Hello <b>", State: task.Done, Usage: session.Usage{Input: 7, Output: 2}}
	if r != want || r.Session.Channel != "api" || r.TaskID == "" {
		t.Errorf("got  %+v\nwant %+v on channel api", r, want)
	}
	var again turnResult
	w.ok("POST", "/api/sessions/"+r.Session.String()+"/messages", `{"message":"and?","channel":"api","agent":"main"}`, &again)
	if again.Session != r.Session {
		t.Errorf("second message: got chat %s, want %s", again.Session, r.Session)
	}
	w.ok("POST", "/api/sessions/new/messages", `{"message":"hi","channel":"cli"}`, &r)
	if r.Session.Channel != "cli" {
		t.Errorf("channel cli: got %s", r.Session)
	}
	m.Push(modeltest.Script{Status: 401, Body: `{"error":{"message":"no"}}`})
	got := w.do("POST", "/api/sessions/new/messages", `{"message":"hi"}`)
	r = turnResult{}
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.code != 200 || r.State != task.Failed || !strings.Contains(r.Error, "test/m") {
		t.Errorf("a turn that failed: got %d %s, want 200 with the sentence", got.code, got.body)
	}
}

func TestMessageIsRefused(t *testing.T) {
	w := newWorld(t, testConfig)
	for _, edit := range []func(*http.Request){asStream, func(*http.Request) {}} {
		for _, tc := range []struct {
			path, body string
			code       app.Code
			word       string
		}{
			{"new", `{"message":" \n"}`, app.CodeBadRequest, "empty"},
			{"new", `{}`, app.CodeBadRequest, "empty"},
			{"new", `{"message":"x","agent":"nobody"}`, app.CodeNotFound, "coder, main"},
			{"new", `{"message":"x","channel":"mcp"}`, app.CodeBadRequest, "channel"},
			{"new", `{"message":["x"]}`, app.CodeBadRequest, "message: must be a text, not array"},
			{"NEW", `{"message":"x"}`, app.CodeBadRequest, "NEW"},
			{"fax:11111111-2222-3333-4444-555555555555", `{"message":"x"}`, app.CodeBadRequest, "fax"},
		} {
			got := w.do("POST", "/api/sessions/"+tc.path+"/messages", tc.body, edit)
			if e := got.problem(t); got.code != tc.code.HTTPStatus() || e.Code != tc.code || !strings.Contains(e.Message+e.Hint, tc.word) {
				t.Errorf("%s %s: got %d %v, want %s with %q", tc.path, tc.body, got.code, e, tc.code, tc.word)
			}
		}
	}
}

func TestMessageAsStream(t *testing.T) {
	w, m := newTalkingWorld(t)
	gate := make(chan struct{})
	m.Push(modeltest.Script{Chunks: []string{"one\n", "two"}, Gate: gate, Usage: &session.Usage{Input: 3, Output: 1}})
	resp := w.request(t.Context(), "POST", "/api/sessions/"+chatA+"/messages", `{"message":"hi"}`, asStream)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("got %d %s, want a stream", resp.StatusCode, kind)
	}
	f := readFrames(t, resp.Body)
	first := f.want(frame{event: "turn"})
	var begun turnBegun
	if err := json.Unmarshal([]byte(first.data), &begun); err != nil || begun.Session.String() != chatA || begun.TaskID == "" {
		t.Fatalf("turn: got %s, %v", first.data, err)
	}
	f.want(frame{event: "status", data: `{"text":"step 1, asking test/m"}`})
	gate <- struct{}{}
	f.want(frame{event: "delta", data: `{"text":"one\n"}`})
	close(gate)
	f.want(frame{event: "delta", data: `{"text":"two"}`})
	last := f.want(frame{event: "result"})
	want := turnResult{Session: begun.Session, TaskID: begun.TaskID, Agent: "main", Text: "one\ntwo", State: task.Done, Usage: session.Usage{Input: 3, Output: 1}}
	if last.data != jsonOf(t, want) {
		t.Errorf("result: got %s\nwant %s", last.data, jsonOf(t, want))
	}
	if extra, more := f.next(); more {
		t.Errorf("after the result: got %+v, want the end", extra)
	}
}

func TestQueueAndAbort(t *testing.T) {
	w, m := newTalkingWorld(t)
	gate := make(chan struct{})
	m.Push(modeltest.Script{Chunks: []string{"never", " all"}, Gate: gate})
	path := "/api/sessions/" + chatA
	running := readFrames(t, w.request(t.Context(), "POST", path+"/messages", `{"message":"first"}`, asStream).Body)
	running.want(frame{event: "turn"})
	running.want(frame{event: "status"})
	gate <- struct{}{}
	running.want(frame{event: "delta", data: `{"text":"never"}`})

	waiting := readFrames(t, w.request(t.Context(), "POST", path+"/messages", `{"message":"second"}`, asStream).Body)
	var begun turnBegun
	if err := json.Unmarshal([]byte(waiting.want(frame{event: "turn"}).data), &begun); err != nil {
		t.Fatal(err)
	}
	waiting.want(frame{event: "queue", data: `{"position":1}`})
	var tk task.Task
	if w.ok("GET", "/api/tasks/"+begun.TaskID, "", &tk); tk.State != task.Queued || tk.QueuePosition != 1 {
		t.Errorf("waiting task: got %+v, want position 1", tk)
	}
	var o outcome
	if w.ok("POST", "/api/tasks/"+begun.TaskID+"/abort", "", &o); o.Status != "aborted" {
		t.Errorf("aborting the waiting one: got %q", o.Status)
	}
	if got := resultIn(t, waiting); got.State != task.Stopped || got.Error == "" {
		t.Errorf("the waiting one: got %+v, want stopped", got)
	}
	if w.ok("POST", path+"/abort", "", &o); o.Status != "aborted" {
		t.Errorf("aborting the chat: got %q", o.Status)
	}
	if got := resultIn(t, running); got.State != task.Stopped || got.Text != "never" {
		t.Errorf("the running one: got %+v, want stopped with its text", got)
	}
}

// resultIn skips to the result, which has to be the last event.
func resultIn(t *testing.T, f *frames) turnResult {
	t.Helper()
	for {
		got, ok := f.next()
		if !ok {
			t.Fatal("the stream ended without a result")
		}
		if got.event != "result" {
			continue
		}
		var r turnResult
		if err := json.Unmarshal([]byte(got.data), &r); err != nil {
			t.Fatal(err)
		}
		if extra, more := f.next(); more {
			t.Errorf("after the result: got %+v, want the end", extra)
		}
		return r
	}
}

func TestTooManyWaitingMessages(t *testing.T) {
	w, m := newTalkingWorld(t)
	m.Push(modeltest.Script{Hang: true})
	send := func() *http.Response {
		return w.request(t.Context(), "POST", "/api/sessions/"+chatA+"/messages", `{"message":"x"}`, asStream)
	}
	for range 21 {
		if resp := send(); resp.StatusCode != 200 {
			t.Fatalf("got %d, want 200", resp.StatusCode)
		}
	}
	refused := send()
	data, err := io.ReadAll(refused.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{refused.StatusCode, refused.Header, string(data)}
	if e := got.problem(t); got.code != 429 || e.Code != app.CodeBusy || !strings.Contains(e.Message, "20") {
		t.Errorf("got %d %s, want 429 with the limit", got.code, got.body)
	}
	w.ok("POST", "/api/sessions/"+chatA+"/abort", "", nil)
}

// waitFinal waits for the final state of a task.
func waitFinal(t *testing.T, sub *event.Subscription) task.Task {
	t.Helper()
	for {
		select {
		case env := <-sub.C():
			if e, ok := env.Event.(event.TaskChanged); ok && e.Task.State.Final() {
				return e.Task
			}
		case <-t.Context().Done():
			t.Fatal("the task has no final state")
		}
	}
}

func TestTurnGoesOnWithoutItsClient(t *testing.T) {
	for name, edit := range map[string]func(*http.Request){"stream": asStream, "JSON": func(*http.Request) {}} {
		t.Run(name, func(t *testing.T) {
			w, m := newTalkingWorld(t)
			sub := w.app.Events().Subscribe(256)
			defer sub.Close()
			gate := make(chan struct{})
			m.Push(modeltest.Script{Chunks: []string{"the ", "whole ", "answer"}, Gate: gate})
			ctx, leave := context.WithCancel(t.Context())
			client := make(chan error, 1)
			go func() {
				r, err := http.NewRequestWithContext(ctx, "POST", w.url+"/api/sessions/"+chatA+"/messages", strings.NewReader(`{"message":"hi"}`))
				if err != nil {
					client <- err
					return
				}
				r.Header.Set("Authorization", "Bearer "+testToken)
				r.Header.Set("Content-Type", "application/json")
				edit(r)
				resp, err := http.DefaultClient.Do(r)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				client <- err
			}()
			gate <- struct{}{} // the model has been asked and answers
			leave()
			if err := <-client; !errors.Is(err, context.Canceled) {
				t.Fatalf("the client: got %v, want that it left", err)
			}
			<-w.ended // its handler has returned
			close(gate)
			if got := waitFinal(t, sub); got.State != task.Done || got.Result != "the whole answer" {
				t.Errorf("task: got %+v, want the whole answer", got)
			}
			view, err := w.app.Session(mustKey(t, chatA), store.MessageQuery{})
			if err != nil || len(view.History) != 2 || view.History[1].Content != "the whole answer" {
				t.Errorf("chat: got %+v, %v; want the whole answer", view.History, err)
			}
		})
	}
}

func mustKey(t *testing.T, s string) session.Key {
	t.Helper()
	key, err := session.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A client that does not read holds up nobody; what it missed comes as one piece.
func TestSlowClientGetsAllTheText(t *testing.T) {
	w, m := newTalkingWorld(t)
	sub := w.app.Events().Subscribe(4096)
	defer sub.Close()
	chunks := make([]string, 500)
	for i := range chunks {
		chunks[i] = "word "
	}
	m.Push(modeltest.Script{Chunks: chunks})
	take := make(chan struct{})
	slow := newSlowWriter(take)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/api/sessions/"+chatA+"/messages", strings.NewReader(`{"message":"hi"}`))
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	asStream(r)
	served := make(chan struct{})
	go func() {
		w.api.ServeHTTP(slow, r)
		close(served)
	}()
	<-slow.began // the first event is stuck
	if got := waitFinal(t, sub); got.State != task.Done {
		t.Fatalf("with a stuck client: got %+v, want done", got)
	}
	close(take)
	<-served
	f := readFrames(t, strings.NewReader(slow.String()))
	f.want(frame{event: "turn"})
	f.want(frame{event: "status"})
	f.want(frame{event: "delta", data: `{"text":"` + strings.Join(chunks, "") + `"}`})
	f.want(frame{event: "result"})
	if len(slow.deadlines) == 0 || !slow.deadlines[0].IsZero() {
		t.Errorf("write deadlines: got %v, want them cleared", slow.deadlines)
	}
}

func TestSilentTurnShowsThatItIsAlive(t *testing.T) {
	w, m := newTalkingWorld(t)
	w.api.keepAlive = 1 // as often as can be
	release := make(chan struct{})
	m.Push(modeltest.Script{Hang: true, Release: release, Chunks: []string{"at last"}})
	f := readFrames(t, w.request(t.Context(), "POST", "/api/sessions/new/messages", `{"message":"hi"}`, asStream).Body)
	f.want(frame{comment: "keepalive"}.after(f, "turn", "status"))
	close(release)
	f.want(frame{event: "delta", data: `{"text":"at last"}`})
	f.want(frame{event: "result"})
}

// after skips the named events, among any comments, before what is wanted.
func (want frame) after(f *frames, names ...string) frame {
	for _, name := range names {
		f.want(frame{event: name})
	}
	return want
}

func TestStoppingEndsWaitingRequests(t *testing.T) {
	w, m := newTalkingWorld(t)
	m.Push(modeltest.Script{Hang: true}, modeltest.Script{Hang: true})
	stream := readFrames(t, w.request(t.Context(), "POST", "/api/sessions/new/messages", `{"message":"hi"}`, asStream).Body)
	stream.want(frame{event: "turn"})
	stream.want(frame{event: "status"})
	events := readFrames(t, w.request(t.Context(), "GET", "/api/events", "", nil).Body)
	waiting := make(chan answer, 1)
	go func() { waiting <- w.do("POST", "/api/sessions/new/messages", `{"message":"hi"}`) }()
	<-m.Started()
	<-m.Started()
	w.stop(errors.New("the server is shutting down"))
	got := <-waiting
	if e := got.problem(t); got.code != 503 || e.Code != app.CodeUnavailable || !strings.Contains(e.Message, "shutting down") {
		t.Errorf("waiting for JSON: got %d %s, want 503 with the reason", got.code, got.body)
	}
	for name, f := range map[string]*frames{"turn": stream, "events": events} {
		for {
			got, more := f.next()
			if !more {
				break
			}
			if got.event == "result" {
				t.Errorf("%s: got %+v although the turn has not ended", name, got)
			}
		}
	}
}

func TestWantsStream(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/*": false, "application/json": false, "text/event-stream": true,
		"Text/Event-Stream; q=0.5": true, "application/json, text/event-stream": true,
		"text/event-stream;q=0": false, "text/event-stream;q=0.0, */*": false, "text/event-streams": false, ";;,text/event-stream": true,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Accept", accept)
		if got := wantsStream(r); got != want {
			t.Errorf("Accept %q: got %v, want %v", accept, got, want)
		}
	}
}
