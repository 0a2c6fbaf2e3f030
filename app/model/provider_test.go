package model

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/tool"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func noKey(context.Context, string) (string, error) {
	return "", errors.New("no key was expected to be read")
}

// bench is one provider of one style against a scripted server.
type bench struct {
	*modeltest.Server
	style    Style
	provider Provider
	endpoint *endpoint
}

func newBench(t *testing.T, style Style, log *slog.Logger) *bench {
	s := modeltest.New(t)
	cfg := ProviderConfig{Name: "test", BaseURL: s.OpenAIURL(), Style: style}
	if style == StyleAnthropic {
		cfg.BaseURL = s.AnthropicURL()
	}
	e := newEndpoint(cfg, noKey, log)
	b := &bench{Server: s, style: style, endpoint: e, provider: openAI{e}}
	if style == StyleAnthropic {
		b.provider = anthropicStyle{e}
	}
	return b
}

// bothStyles runs a test once for each wire style.
func bothStyles(t *testing.T, test func(t *testing.T, b *bench)) {
	for _, style := range []Style{StyleOpenAI, StyleAnthropic} {
		t.Run(string(style), func(t *testing.T) { test(t, newBench(t, style, quiet)) })
	}
}

// ask sends one user message.
func (b *bench) ask(ctx context.Context, emit func(Chunk)) (Response, error) {
	return b.provider.Stream(ctx, Request{Model: "m", Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, emit)
}

func wantClass(t *testing.T, err error, want Class) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Class != want {
		t.Fatalf("got error %v (%#v), want class %s", err, err, want)
	}
	return e
}

func TestStreamText(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.Push(modeltest.Script{Reasoning: []string{"hm", "so"}, Chunks: []string{"Grüß ", "dich, ", "世界 😀"}, Usage: &session.Usage{Input: 10, Output: 7, CacheRead: 3}})
		var texts []string
		var silent int
		r, err := b.ask(t.Context(), func(c Chunk) {
			if c.Text == "" {
				silent++
				return
			}
			texts = append(texts, c.Text)
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"Grüß ", "dich, ", "世界 😀"}; !reflect.DeepEqual(texts, want) || r.Text != strings.Join(want, "") {
			t.Errorf("got chunks %q and text %q, want %q", texts, r.Text, want)
		}
		if silent < 2 {
			t.Errorf("got %d signs of life without text, want at least the 2 pieces of reasoning", silent)
		}
		if want := (session.Usage{Input: 10, Output: 7, CacheRead: 3}); r.Usage != want {
			t.Errorf("got usage %+v, want %+v", r.Usage, want)
		}
		if r.ToolCalls != nil || r.Truncated {
			t.Errorf("got calls %v, truncated %v; want none, false", r.ToolCalls, r.Truncated)
		}
	})
}

func TestStreamWithoutUsage(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.Push(modeltest.Script{Chunks: []string{"ok"}})
		r, err := b.ask(t.Context(), nil)
		if err != nil || r.Text != "ok" || r.Usage.Input != 0 {
			t.Errorf("got %+v, %v; want the text ok and no usage", r, err)
		}
	})
}

func TestTruncated(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		finish := map[Style]string{StyleOpenAI: "length", StyleAnthropic: "max_tokens"}[b.style]
		b.Push(modeltest.Script{Chunks: []string{"half an ans"}, Finish: finish})
		if r, err := b.ask(t.Context(), nil); err != nil || !r.Truncated || r.Text != "half an ans" {
			t.Errorf("got %+v, %v; want a truncated answer", r, err)
		}
	})
}

func TestFiltered(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		finish := map[Style]string{StyleOpenAI: "content_filter", StyleAnthropic: "refusal"}[b.style]
		b.Push(modeltest.Script{Finish: finish})
		_, err := b.ask(t.Context(), nil)
		if e := wantClass(t, err, BadRequest); !strings.Contains(e.Error(), "reasons of content") {
			t.Errorf("got %q, want a sentence about the content", e)
		}
	})
}

func TestParallelToolCalls(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.Push(modeltest.Script{Chunks: []string{"Looking."}, ToolCalls: []modeltest.ToolCall{
			{ID: "c1", Name: "search", Arguments: `{"q":"größe 😀","n":3}`, Pieces: 7},
			{ID: "c2", Name: "clock", Arguments: ``},
			{ID: "c3", Name: "clock", Arguments: `{"timezone": "UTC"`},
			{ID: "c3", Name: "clock", Arguments: `null`},
			{Name: "clock", Arguments: `[1]`},
			{ID: "c4", Name: "clock", Arguments: `"{\"timezone\":\"UTC\"}"`},
		}})
		r, err := b.ask(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		ids := map[string]bool{}
		for _, c := range r.ToolCalls {
			got = append(got, c.Name+" "+string(c.Arguments))
			if c.ID == "" || ids[c.ID] {
				t.Errorf("the id %q is empty or used twice", c.ID)
			}
			ids[c.ID] = true
		}
		want := []string{`search {"q":"größe 😀","n":3}`, `clock {}`, `clock {"_raw_arguments":"{\"timezone\": \"UTC\""}`, `clock {}`, `clock {"_raw_arguments":"[1]"}`, `clock {"timezone":"UTC"}`}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got calls\n%q, want\n%q", got, want)
		}
		for i, bad := range []string{2: `{"timezone": "UTC"`, 4: `[1]`, 5: ""} {
			if raw, isBad := BadArguments(r.ToolCalls[i]); raw != bad || isBad != (bad != "") {
				t.Errorf("BadArguments(%s): got %q, %v; want %q", r.ToolCalls[i].Arguments, raw, isBad, bad)
			}
		}
	})
}

func TestRequest(t *testing.T) {
	half, most := 0.5, 0.9
	bothStyles(t, func(t *testing.T, b *bench) {
		call := func(id, args string) session.ToolCall {
			return session.ToolCall{ID: id, Name: "search", Arguments: []byte(args)}
		}
		_, err := b.provider.Stream(t.Context(), Request{
			Model:  "some/model",
			System: "Be kind.",
			Messages: []Message{
				{Role: session.RoleUser, Text: "find a and b"},
				{Role: session.RoleAssistant, Text: "I look.", ToolCalls: []session.ToolCall{call("c1", `{"q":"a"}`), call("c 2", `{"q":"b"}`)}},
				{Role: session.RoleTool, ToolCallID: "c 2", ToolName: "search", Text: "no b", ToolError: true},
				{Role: session.RoleTool, ToolCallID: "c1", ToolName: "search", Text: "an a"},
				{Role: session.RoleUser, Text: "go on"},
			},
			Tools: []tool.Spec{
				{Name: "search", Description: "Finds things.", InputSchema: []byte(`{"$schema":"x","type":"object","properties":{"q":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string","maxLength":12345678901234567890}}}`)},
				{Name: "clock"},
			},
			ForceTool: "search",
			Params:    Params{Temperature: &half, TopP: &most, MaxTokens: 77},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		q := b.Requests()[0]
		id2 := wireID("c 2", anyID)
		failed := "no b"
		if b.style == StyleOpenAI {
			failed = "Error: no b"
		}
		want := []modeltest.Message{
			{Role: "user", Text: "find a and b"},
			{Role: "assistant", Text: "I look.", ToolCalls: []modeltest.ToolCall{{ID: "c1", Name: "search", Arguments: `{"q":"a"}`}, {ID: id2, Name: "search", Arguments: `{"q":"b"}`}}},
			{Role: "tool", ToolCallID: "c1", Text: "an a"},
			{Role: "tool", ToolCallID: id2, Text: failed, ToolError: b.style == StyleAnthropic},
			{Role: "user", Text: "go on"},
		}
		if !reflect.DeepEqual(q.Messages, want) {
			t.Errorf("got messages\n%+v, want\n%+v", q.Messages, want)
		}
		if q.Model != "some/model" || q.System != "Be kind." || q.ForceTool != "search" || q.MaxTokens != 77 || *q.Temperature != half || *q.TopP != most || !q.Stream {
			t.Errorf("got %+v", q)
		}
		var got []string
		for _, s := range q.Tools {
			got = append(got, s.Name+"|"+s.Description+"|"+string(s.Schema))
		}
		tools := []string{
			`search|Finds things.|{"$defs":{"s":{"type":"string","maxLength":12345678901234567890}},"properties":{"q":{"$ref":"#/$defs/s"}},"type":"object"}`,
			`clock||{"properties":{},"type":"object"}`,
		}
		if !reflect.DeepEqual(got, tools) {
			t.Errorf("got tools\n%q, want\n%q", got, tools)
		}
	})
}

// A response is what the next request sends back, also when its arguments were broken.
func TestBrokenArgumentsTravelBack(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.Push(modeltest.Script{ToolCalls: []modeltest.ToolCall{{ID: "c1", Name: "clock", Arguments: `{"a`}}})
		r, err := b.ask(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.provider.Stream(t.Context(), Request{Model: "m", Messages: []Message{
			{Role: session.RoleUser, Text: "hi"},
			{Role: session.RoleAssistant, ToolCalls: r.ToolCalls},
			{Role: session.RoleTool, ToolCallID: "c1", Text: "not JSON", ToolError: true},
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := b.Requests()[1].Messages[1].ToolCalls[0].Arguments
		if want := `{"_raw_arguments":"{\"a"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestMaxTokensOfAnthropic(t *testing.T) {
	b := newBench(t, StyleAnthropic, quiet)
	for i, c := range []struct {
		model string
		want  int
	}{{"claude-sonnet-4-20250514", defaultMaxTokens}, {"claude-3-haiku-20240307", olderMaxTokens}, {"claude-3-5-haiku-20241022", defaultMaxTokens}} {
		if _, err := b.provider.Stream(t.Context(), Request{Model: c.model, Messages: []Message{{Role: session.RoleAssistant, Text: "I said"}}}, nil); err != nil {
			t.Fatal(err)
		}
		q := b.Requests()[i]
		if q.MaxTokens != c.want {
			t.Errorf("%s: got max_tokens %d, want %d", c.model, q.MaxTokens, c.want)
		}
		if q.Messages[0].Role != "user" || q.Messages[0].Text != earlier {
			t.Errorf("got first message %+v, want one of the person", q.Messages[0])
		}
	}
}

func TestCancel(t *testing.T) {
	gate := make(chan struct{})
	for name, script := range map[string]modeltest.Script{
		"before the headers": {Hang: true},
		"before the text":    {Silence: true},
		"between chunks":     {Chunks: []string{"a", "b"}, Gate: gate},
	} {
		t.Run(name, func(t *testing.T) {
			bothStyles(t, func(t *testing.T, b *bench) {
				b.Push(script)
				why := errors.New("the person pressed stop")
				ctx, cancel := context.WithCancelCause(t.Context())
				var at time.Time
				go func() {
					<-b.Started()
					at = time.Now()
					cancel(why)
				}()
				_, err := b.ask(ctx, nil)
				took := time.Since(at)
				if !errors.Is(err, why) {
					t.Fatalf("got %v, want the cause", err)
				}
				if took > 250*time.Millisecond {
					t.Errorf("took %v after the cancellation, want milliseconds", took)
				}
				<-b.Requests()[0].Gone()
			})
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		why := errors.New("too late")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if _, err := b.ask(ctx, nil); !errors.Is(err, why) || len(b.Requests()) != 0 {
			t.Errorf("got %v and %d requests, want the cause and none", err, len(b.Requests()))
		}
	})
}

// What was received before an abort is kept.
func TestCancelKeepsText(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		b.Push(modeltest.Script{Chunks: []string{"first ", "second"}, Gate: gate})
		ctx, cancel := context.WithCancel(t.Context())
		r, err := b.ask(ctx, func(c Chunk) {
			if c.Text != "" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || r.Text != "first " {
			t.Errorf("got %q, %v; want the first chunk and the cancellation", r.Text, err)
		}
	})
}

func TestConnectionIsReused(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		for range 5 {
			if _, err := b.ask(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.Connections(); n != 1 {
			t.Errorf("got %d connections for 5 requests, want 1", n)
		}
	})
}

// The vendors' libraries read these by themselves when they are given the chance.
func TestEnvironmentIsIgnored(t *testing.T) {
	for _, v := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(v, "from-the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	bothStyles(t, func(t *testing.T, b *bench) {
		if _, err := b.ask(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, h := range []string{"Authorization", "X-Api-Key", "Openai-Organization", "Openai-Project"} {
			if v := b.Requests()[0].Header.Get(h); v != "" {
				t.Errorf("got header %s: %s, want none", h, v)
			}
		}
	})
}

// A long line passes through the whole provider; the readers of the vendors' libraries stop earlier.
func TestHugeArguments(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		args := `{"text":"` + strings.Repeat("x", 4<<20) + `"}`
		b.Push(modeltest.Script{ToolCalls: []modeltest.ToolCall{{ID: "c", Name: "write", Arguments: args}}})
		r, err := b.ask(t.Context(), nil)
		if err != nil || len(r.ToolCalls) != 1 || string(r.ToolCalls[0].Arguments) != args {
			t.Errorf("got %d calls, %v; want the arguments back", len(r.ToolCalls), err)
		}
		b.Push(modeltest.Script{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: "data: " + strings.Repeat("x", maxLine+1) + "\n\n"})
		_, err = b.ask(t.Context(), nil)
		if e := wantClass(t, err, Unknown); !strings.Contains(e.Error(), "16 MiB") {
			t.Errorf("got %q, want the limit named", e)
		}
	})
}

func TestConcurrentStreams(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.Handle(func(r *modeltest.Request) modeltest.Script {
			return modeltest.Script{Chunks: []string{"to ", r.LastText()}}
		})
		errs := make(chan error, 20)
		for i := range 20 {
			go func() {
				text := strings.Repeat("x", i+1)
				r, err := b.provider.Stream(t.Context(), Request{Model: "m", Messages: []Message{{Role: session.RoleUser, Text: text}}}, func(Chunk) {})
				if err == nil && r.Text != "to "+text {
					err = errors.New("got the answer of another request: " + r.Text)
				}
				errs <- err
			}()
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
