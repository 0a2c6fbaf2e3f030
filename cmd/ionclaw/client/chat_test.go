package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

func answering(stream string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, stream)
	}}
}

const wholeTurn = `event: turn
data: {"session_id":"cli:11111111-2222-3333-4444-555555555555","task_id":"t1"}

event: queue
data: {"position":2}

: keepalive

event: status
data: {"text":"retrying"}

event: of-a-later-version
data: not even JSON

event: delta
data: {"text":"Hel"}

event: delta
data: {"text":"lo"}

event: result
data: {"session_id":"cli:11111111-2222-3333-4444-555555555555","task_id":"t1","agent":"main","text":"Hello","state":"done","usage":{"input":1,"output":2}}

`

func TestSendFollowsATurn(t *testing.T) {
	var log []string
	w := Watcher{
		Turn:   func(id string) { log = append(log, "turn "+id) },
		Delta:  func(text string) { log = append(log, "delta "+text) },
		Status: func(text string) { log = append(log, "status "+text) },
		Queue:  func(n int) { log = append(log, "queue "+string(rune('0'+n))) },
	}
	r, err := program(t, answering(wholeTurn)).Send(t.Context(), session.NewKey("cli"), Message{Text: "hi"}, w)
	if err != nil {
		t.Fatal(err)
	}
	if r.Text != "Hello" || r.State != task.Done || r.Agent != "main" || r.Usage.Output != 2 || r.TaskID != "t1" {
		t.Errorf("result = %+v", r)
	}
	if got, want := strings.Join(log, ", "), "turn t1, queue 2, status retrying, delta Hel, delta lo"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// Nobody has to listen.
	if _, err := program(t, answering(wholeTurn)).Send(t.Context(), session.NewKey("cli"), Message{Text: "hi"}, Watcher{}); err != nil {
		t.Errorf("without a watcher: %v", err)
	}
}

func TestSendFails(t *testing.T) {
	for name, tt := range map[string]struct {
		routes map[string]http.HandlerFunc
		want   app.Code
		text   string
	}{
		"refused": {map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":{"code":"not_found","message":"unknown agent \"x\""}}`)
		}}, app.CodeNotFound, "unknown agent"},
		"ends before the result": {answering("event: turn\ndata: {\"task_id\":\"t\"}\n\n"), app.CodeUnavailable, "before the answer was complete"},
		"breaks off": {map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: turn\ndata: {}\n\n")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}}, app.CodeUnavailable, "broke"},
		"sends nonsense": {answering("event: delta\ndata: {\n\n"), app.CodeInternal, `event "delta"`},
		"no stream": {map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		}}, app.CodeInternal, "text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := program(t, tt.routes).Send(t.Context(), session.NewKey("cli"), Message{Text: "hi"}, Watcher{})
			if got := code(err); got != tt.want || !strings.Contains(app.AsError(err).Message, tt.text) {
				t.Errorf("got %q: %v\nwant %q: …%s…", got, err, tt.want, tt.text)
			}
		})
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	left := make(chan struct{})
	c := program(t, map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // only then net/http notices that the client has left
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: turn\ndata: {\"task_id\":\"t\"}\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	want := errors.New("enough")
	_, err := c.Send(ctx, session.NewKey("cli"), Message{Text: "hi"}, Watcher{Turn: func(string) { cancel(want) }})
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
	<-left // the program notices that the caller has gone
}
