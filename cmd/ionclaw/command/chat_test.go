package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"ionclaw-tray/cmd/ionclaw/client"
)

const testKey = "cli:11111111-2222-3333-4444-555555555555"

func result(state, text, err string) string {
	return fmt.Sprintf(`{"session_id":%q,"task_id":"t1","agent":"main","text":%q,"state":%q,"usage":{},"error":%q}`, testKey, text, state, err)
}

// talk answers a message with the given events after the acceptance.
func talk(t *testing.T, got *client.Message, events ...string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"POST /api/sessions/": func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(got); err != nil {
			t.Error(err)
		}
		event(w, "turn", `{"task_id":"t1"}`)
		for i := 0; i < len(events); i += 2 {
			event(w, events[i], events[i+1])
		}
	}}
}

func TestChat(t *testing.T) {
	hello := []string{"delta", `{"text":"Hel"}`, "delta", `{"text":"lo"}`, "result", result("done", "Hello", "")}
	for _, tt := range []struct {
		name                    string
		args                    []string
		stdin                   string
		events                  []string
		terminal                bool
		code                    int
		message, stdout, stderr string
	}{
		{name: "streams", args: []string{"hi"}, events: hello, message: "hi", stdout: "Hello\n"},
		{name: "words without quotes", args: []string{"what", "now"}, events: hello, message: "what now", stdout: "Hello\n"},
		{name: "from standard input", args: []string{"-"}, stdin: "one\ntwo\n", events: hello, message: "one\ntwo", stdout: "Hello\n"},
		{name: "nothing streamed", args: []string{"hi"}, events: []string{"result", result("done", "All at once\n", "")}, message: "hi", stdout: "All at once\n"},
		{name: "waits and retries", args: []string{"hi"}, message: "hi", terminal: true, stdout: "ok\n",
			stderr: "\r\x1b[2Kwaiting in this chat, number 2\r\x1b[2Kretrying\r\x1b[2K\nContinue",
			events: []string{"queue", `{"position":2}`, "status", `{"text":"retrying"}`, "delta", `{"text":"ok"}`, "result", result("done", "ok", "")}},
		{name: "nobody is told what happens meanwhile", args: []string{"hi"}, message: "hi", stdout: "ok\n",
			events: []string{"queue", `{"position":2}`, "status", `{"text":"retrying"}`, "delta", `{"text":"ok"}`, "result", result("done", "ok", "")}},
		{name: "fails after a part", args: []string{"hi"}, code: 1, message: "hi", stdout: "par\n", stderr: "ionclaw: the model is gone\n",
			events: []string{"delta", `{"text":"par"}`, "result", result("error", "par", "the model is gone")}},
		{name: "stopped by others", args: []string{"hi"}, code: 1, message: "hi", stderr: "ionclaw: the turn ended as \"stopped\"\n",
			events: []string{"result", result("stopped", "", "")}},
		{name: "program ends", args: []string{"hi"}, code: 1, message: "hi", stdout: "par\n", stderr: "ionclaw: IonClaw ended before",
			events: []string{"delta", `{"text":"par"}`}},
		{name: "shows no sequences on a terminal", args: []string{"hi"}, terminal: true, message: "hi", stdout: "[2Jx\n", stderr: "Continue with: ionclaw chat --session " + testKey,
			events: []string{"delta", `{"text":"\u001b[2Jx"}`, "result", result("done", "", "")}},
		{name: "keeps bytes for a pipe", args: []string{"hi"}, message: "hi", stdout: "\x1b[2Jx\n",
			events: []string{"delta", `{"text":"\u001b[2Jx"}`, "result", result("done", "", "")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.In, w.OutTerm, w.ErrTerm = strings.NewReader(tt.stdin), tt.terminal, tt.terminal
			var got client.Message
			w.program(talk(t, &got, tt.events...))
			w.wantRun(tt.code, "", tt.stderr, append([]string{"chat"}, tt.args...)...)
			if w.out.String() != tt.stdout {
				t.Errorf("stdout %q, want %q", w.out.String(), tt.stdout)
			}
			if !tt.terminal && tt.stderr == "" && w.err.String() != "" {
				t.Errorf("stderr %q, want nothing", w.err.String())
			}
			if got.Text != tt.message || got.Channel != "cli" {
				t.Errorf("message %+v, want %q on cli", got, tt.message)
			}
		})
	}
}

func TestChatAsJSON(t *testing.T) {
	w := newWorld(t)
	var got client.Message
	w.program(talk(t, &got, "delta", `{"text":"x"}`, "status", `{"text":"y"}`, "result", result("done", "x", "")))
	w.wantRun(0, `"text": "x"`, "", "chat", "--json", "--agent", "a", "hi")
	if got.Agent != "a" || w.err.String() != "" || !json.Valid([]byte(w.out.String())) {
		t.Errorf("message %+v, stderr %q, stdout %s", got, w.err.String(), w.out.String())
	}
}

func TestChatGoesOnInItsSession(t *testing.T) {
	w := newWorld(t)
	var path string
	w.program(map[string]http.HandlerFunc{"POST /api/sessions/{key}/messages": func(rw http.ResponseWriter, r *http.Request) {
		path = r.PathValue("key")
		event(rw, "result", result("done", "", ""))
	}})
	w.wantRun(0, "", "", "chat", "--session", strings.TrimPrefix(testKey, "cli:"), "hi")
	if want := strings.Replace(testKey, "cli", "mcp", 1); path != want {
		t.Errorf("session %s, want %s", path, want)
	}
}

func TestTooLongMessage(t *testing.T) {
	w := newWorld(t)
	w.In = io.LimitReader(letters{}, maxMessage+1)
	w.wantRun(2, "", "longer than 10485760 bytes", "chat", "-")
}

func TestMessageThatIsNoText(t *testing.T) {
	w := newWorld(t)
	w.In = strings.NewReader("caf\xe9")
	w.wantRun(2, "", "the message is not UTF-8 text", "chat", "-")
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// drain reads the request: only then net/http notices that the client has left.
func drain(t *testing.T, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Error(err)
	}
}

func TestInterruptAbortsTheTurn(t *testing.T) {
	w := newWorld(t)
	aborted := make(chan struct{})
	w.program(map[string]http.HandlerFunc{
		"POST /api/sessions/": func(rw http.ResponseWriter, _ *http.Request) {
			event(rw, "turn", `{"task_id":"t1"}`)
			event(rw, "delta", `{"text":"par"}`)
			w.signals <- os.Interrupt
			<-aborted
			event(rw, "result", result("stopped", "par", "The turn was aborted."))
		},
		"POST /api/tasks/t1/abort": func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, `{"status":"aborted"}`)
			close(aborted)
		},
	})
	w.wantRun(1, "par\n", "ionclaw: aborted\n", "chat", "hi")
}

func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	w := newWorld(t)
	asked, left := make(chan struct{}), make(chan struct{})
	w.program(map[string]http.HandlerFunc{
		"POST /api/sessions/": func(rw http.ResponseWriter, r *http.Request) {
			drain(t, r)
			event(rw, "turn", `{"task_id":"t1"}`)
			w.signals <- os.Interrupt
			<-r.Context().Done()
			close(left)
		},
		"POST /api/tasks/t1/abort": func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			w.signals <- os.Interrupt
			<-r.Context().Done()
		},
	})
	w.wantRun(1, "", "ionclaw: interrupted; the turn may still be running\nhint: ", "chat", "hi")
	<-asked
	<-left
}

func TestInterruptBeforeTheMessageIsAccepted(t *testing.T) {
	w := newWorld(t)
	w.program(map[string]http.HandlerFunc{"POST /api/sessions/": func(_ http.ResponseWriter, r *http.Request) {
		drain(t, r)
		w.signals <- os.Interrupt
		w.signals <- os.Interrupt
		<-r.Context().Done()
	}})
	w.wantRun(1, "", "interrupted", "chat", "hi")
}
