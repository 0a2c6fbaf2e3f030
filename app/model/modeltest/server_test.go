package modeltest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

var paths = map[Style]string{OpenAI: "/v1/chat/completions", Anthropic: "/v1/messages"}

func post(t *testing.T, ctx context.Context, s *Server, style Style, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+paths[style], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("X-Api-Key", "secret")
	return http.DefaultClient.Do(req)
}

func read(t *testing.T, s *Server, style Style, body string) (int, string) {
	t.Helper()
	res, err := post(t, t.Context(), s, style, body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestAnswers(t *testing.T) {
	s := New(t)
	for style := range paths {
		if status, got := read(t, s, style, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`); status != 200 || strings.Count(got, "data: ") < 4 || !strings.Contains(got, "modeltest.") {
			t.Errorf("%s: got %d %s, want the default answer", style, status, got)
		}
		s.Push(Script{Status: 503, Body: "busy", Header: http.Header{"retry-after": {"3"}}})
		if status, got := read(t, s, style, `{}`); status != 503 || got != "busy" {
			t.Errorf("%s: got %d %s, want the script's status", style, status, got)
		}
		if status, _ := read(t, s, style, `{`); status != 400 {
			t.Errorf("%s: got %d for broken JSON, want 400", style, status)
		}
	}
	s.Handle(func(r *Request) Script { return Script{Chunks: []string{"<" + r.LastText() + ">"}} })
	if _, got := read(t, s, OpenAI, `{"messages":[{"role":"user","content":"echo"}]}`); !strings.Contains(got, `\u003cecho\u003e`) {
		t.Errorf("got %s, want the handler's answer", got)
	}
}

func TestUsageOnlyWhenWanted(t *testing.T) {
	s := New(t)
	for body, want := range map[string]bool{`{}`: false, `{"stream_options":{"include_usage":true}}`: true} {
		s.Push(Script{Usage: &session.Usage{Input: 5, CacheRead: 2, Output: 1}})
		_, got := read(t, s, OpenAI, body)
		if strings.Contains(got, `"prompt_tokens":7`) != want {
			t.Errorf("%s: got %s, want usage: %v", body, got, want)
		}
	}
}

func TestKey(t *testing.T) {
	s := New(t)
	s.RequireKey("other")
	for style := range paths {
		if status, _ := read(t, s, style, `{}`); status != 401 {
			t.Errorf("%s: got %d with a wrong key, want 401", style, status)
		}
	}
	s.RequireKey("secret")
	for style := range paths {
		if status, _ := read(t, s, style, `{}`); status != 200 {
			t.Errorf("%s: got %d with the right key, want 200", style, status)
		}
	}
	for _, r := range s.Requests() {
		if got := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); got != "******" {
			t.Errorf("got recorded credentials %q, want them masked", got)
		}
	}
	if len(s.Requests()) != 2 {
		t.Errorf("got %d requests, want the 2 with the right key", len(s.Requests()))
	}
}

func TestGate(t *testing.T) {
	s := New(t)
	gate := make(chan struct{})
	s.Push(Script{Chunks: []string{"one", "two"}, Gate: gate})
	res, err := post(t, t.Context(), s, OpenAI, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return ""
	}
	for _, want := range []string{"one", "two"} {
		gate <- struct{}{}
		if got := next(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	r := <-s.Started()
	for next() != "" {
	}
	<-r.Done()
}

func TestHangAndGone(t *testing.T) {
	s := New(t)
	for _, script := range []Script{{Hang: true}, {Silence: true}} {
		s.Push(script)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.Started()
			cancel()
		}()
		res, err := post(t, ctx, s, Anthropic, `{}`)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the cancellation", err)
		}
		all := s.Requests()
		<-all[len(all)-1].Gone()
		<-all[len(all)-1].Done()
	}
	release := make(chan struct{})
	close(release)
	s.Push(Script{Hang: true, Silence: true, Release: release, Chunks: []string{"free"}})
	if _, got := read(t, s, OpenAI, `{}`); !strings.Contains(got, "free") {
		t.Errorf("got %s, want the answer after the release", got)
	}
	select {
	case <-s.Requests()[2].Gone():
		t.Error("a client that stayed counts as gone")
	default:
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	s.Push(Script{Hang: true})
	go func() {
		<-s.Started()
		s.Close()
	}()
	if res, err := post(t, t.Context(), s, OpenAI, `{}`); err == nil {
		res.Body.Close()
		t.Error("the request was answered")
	}
	s.Close()
}

func TestEndings(t *testing.T) {
	s := New(t)
	for style := range paths {
		s.Push(Script{Chunks: []string{"a"}, NoFinish: true}, Script{Chunks: []string{"a"}, ErrorEvent: `{"error":"x"}`}, Script{Chunks: []string{"a"}, CloseMidStream: true})
		for range 2 {
			if _, got := read(t, s, style, `{}`); strings.Contains(got, "[DONE]") || strings.Contains(got, "message_stop") {
				t.Errorf("%s: got %s, want no proper end", style, got)
			}
		}
		res, err := post(t, t.Context(), s, style, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("%s: the body ended properly, want a broken connection", style)
		}
		res.Body.Close()
	}
}

func TestParse(t *testing.T) {
	s := New(t)
	read(t, s, Anthropic, `{"system":[{"type":"text","text":"sys"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"r"},{"type":"text","text":"next"}]}]}`)
	read(t, s, OpenAI, `{"tool_choice":"auto","messages":[{"role":"system","content":"sys"},{"role":"assistant","content":null,"tool_calls":[{"id":"t","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t","content":[{"type":"text","text":"r"}]}]}`)
	a, o := s.Requests()[0], s.Requests()[1]
	if a.System != "sys" || len(a.Messages) != 2 || a.Messages[0].ToolCallID != "t" || !a.Messages[0].ToolError || a.LastText() != "next" {
		t.Errorf("got %+v", a)
	}
	if o.System != "sys" || len(o.Messages) != 2 || o.Messages[0].ToolCalls[0].Name != "x" || o.LastText() != "r" || o.ForceTool != "" {
		t.Errorf("got %+v", o)
	}
}

func TestPieces(t *testing.T) {
	for n := range 6 {
		got := ToolCall{Arguments: `{"ß":"世"}`, Pieces: n}.pieces()
		if strings.Join(got, "") != `{"ß":"世"}` || len(got) != max(n, 1) {
			t.Errorf("%d pieces: got %q", n, got)
		}
		for _, p := range got {
			if strings.ToValidUTF8(p, "?") != p {
				t.Errorf("%d pieces: %q is cut inside a character", n, p)
			}
		}
	}
}
