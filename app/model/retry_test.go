package model

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
)

// scripted is a provider that fails as listed, then answers. It needs no network, so time can be faked.
type scripted struct {
	fails  []*Error
	text   string // delivered before each failure
	asked  []time.Time
	models []string
}

func (s *scripted) Stream(ctx context.Context, req Request, emit func(Chunk)) (Response, error) {
	s.asked = append(s.asked, time.Now())
	s.models = append(s.models, req.Model)
	if len(s.fails) == 0 {
		emit(Chunk{Text: "ok"})
		return Response{Text: "ok"}, nil
	}
	f := s.fails[0]
	s.fails = s.fails[1:]
	emit(Chunk{Text: s.text})
	return Response{Text: s.text}, f
}

func testRouter(providers map[string]Provider) *Router {
	return &Router{providers: providers, log: quiet, pause: defaultPauses}
}

func failures(class Class, n int) []*Error {
	out := make([]*Error, n)
	for i := range out {
		out[i] = &Error{Class: class, Provider: "a", Model: "a/1"}
	}
	return out
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		class Class
		asked int // with three failures ahead
	}{
		{RateLimited, 3}, {Overloaded, 3}, {Timeout, 3}, {ConnectionRefused, 3},
		{HostNotFound, 1}, {Authentication, 1}, {ModelNotFound, 1}, {Billing, 1}, {ContextOverflow, 1}, {BadRequest, 1}, {Unknown, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &scripted{fails: failures(c.class, 3)}
			var notes []string
			_, err := testRouter(map[string]Provider{"a": p}).Stream(t.Context(), []string{"a/1"}, Request{}, nil, func(s string) { notes = append(notes, s) })
			wantClass(t, err, c.class)
			if len(p.asked) != c.asked || len(notes) != c.asked-1 {
				t.Fatalf("%s: asked %d times, notes %q; want %d times", c.class, len(p.asked), notes, c.asked)
			}
			for i := 1; i < len(p.asked); i++ {
				base := firstPause << (i - 1)
				if d := p.asked[i].Sub(p.asked[i-1]); d < base*3/4 || d > base*5/4 {
					t.Errorf("%s: pause %d was %v, want %v give or take a quarter", c.class, i, d, base)
				}
				if !strings.Contains(notes[i-1], "retrying") || !strings.Contains(notes[i-1], "a/1") {
					t.Errorf("got note %q", notes[i-1])
				}
			}
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scripted{fails: failures(Overloaded, 2)}
		r, err := testRouter(map[string]Provider{"a": p}).Stream(t.Context(), []string{"a/x/y"}, Request{Model: "ignored"}, nil, nil)
		if err != nil || r.Text != "ok" || r.Model != "a/x/y" || p.models[0] != "x/y" {
			t.Errorf("got %+v, %v, asked for %q", r, err, p.models)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, c := range []struct {
		asked time.Duration
		times int
	}{{7 * time.Second, 2}, {longestPause, 2}, {longestPause + time.Second, 1}} {
		synctest.Test(t, func(t *testing.T) {
			p := &scripted{fails: []*Error{{Class: RateLimited, RetryAfter: c.asked}}}
			_, err := testRouter(map[string]Provider{"a": p}).Stream(t.Context(), []string{"a/1"}, Request{}, nil, nil)
			if len(p.asked) != c.times || (err == nil) != (c.times == 2) {
				t.Fatalf("%v: asked %d times, %v; want %d times", c.asked, len(p.asked), err, c.times)
			}
			if c.times == 2 {
				if d := p.asked[1].Sub(p.asked[0]); d < c.asked || d > c.asked*12/10 {
					t.Errorf("waited %v, want at least %v and not much more", d, c.asked)
				}
			}
		})
	}
}

func TestSlowTimeoutIsNotRetried(t *testing.T) {
	p := &scripted{fails: []*Error{{Class: Timeout, noRetry: true}}}
	if _, err := testRouter(map[string]Provider{"a": p}).Stream(t.Context(), []string{"a/1"}, Request{}, nil, nil); err == nil || len(p.asked) != 1 {
		t.Errorf("asked %d times, %v; want once", len(p.asked), err)
	}
}

func TestFallbacks(t *testing.T) {
	a := &scripted{fails: failures(Authentication, 1)}
	b := &scripted{fails: []*Error{{Class: ModelNotFound, Provider: "b", Model: "b/2"}}}
	c := &scripted{}
	var notes []string
	r, err := testRouter(map[string]Provider{"a": a, "b": b, "c": c}).Stream(t.Context(), []string{"a/1", "b/2", "c/3", "a/9"}, Request{}, nil, func(s string) { notes = append(notes, s) })
	want := []string{"a/1 failed (authentication), falling back to b/2", "b/2 failed (model not found), falling back to c/3"}
	if err != nil || r.Model != "c/3" || !reflect.DeepEqual(notes, want) || len(a.asked) != 1 {
		t.Errorf("got %+v, %v, notes %q; want the answer of c/3 and %q", r, err, notes, want)
	}
}

func TestAllFail(t *testing.T) {
	a := &scripted{fails: failures(Authentication, 1)}
	b := &scripted{fails: []*Error{{Class: HostNotFound, Provider: "b", Model: "b/2"}}}
	_, err := testRouter(map[string]Provider{"a": a, "b": b}).Stream(t.Context(), []string{"a/1", "b/2", "nowhere/3"}, Request{}, nil, nil)
	e := wantClass(t, err, Authentication)
	want := (&Error{Class: Authentication, Model: "a/1"}).Error() + " The fallbacks failed too: b/2 (host not found), nowhere/3 (model not found)."
	if e.Error() != want {
		t.Errorf("got %q, want %q", e, want)
	}
}

func TestNothingIsRetriedAfterText(t *testing.T) {
	a := &scripted{fails: failures(Overloaded, 1), text: "Once upon"}
	b := &scripted{}
	var got string
	r, err := testRouter(map[string]Provider{"a": a, "b": b}).Stream(t.Context(), []string{"a/1", "b/2"}, Request{}, func(c Chunk) { got += c.Text }, nil)
	wantClass(t, err, Overloaded)
	if len(a.asked) != 1 || len(b.asked) != 0 || got != "Once upon" || r.Text != got || r.Model != "a/1" {
		t.Errorf("asked %d and %d times, got %q and %+v; want one request and its text", len(a.asked), len(b.asked), got, r)
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &scripted{fails: []*Error{{Class: RateLimited, RetryAfter: 20 * time.Second}}}
		time.AfterFunc(3*time.Second, func() { cancel(why) })
		began := time.Now()
		_, err := testRouter(map[string]Provider{"a": p, "b": &scripted{}}).Stream(ctx, []string{"a/1", "b/2"}, Request{}, nil, nil)
		if took := time.Since(began); !errors.Is(err, why) || took != 3*time.Second || len(p.asked) != 1 {
			t.Errorf("got %v after %v, want the cause after exactly 3s", err, took)
		}
	})
}

func TestUnknownModels(t *testing.T) {
	r := New(nil, noKey, quiet)
	for model, says := range map[string]string{
		"":             "not the name of a model",
		"gpt-4":        "provider/name",
		"/x":           "provider/name",
		"x/":           "provider/name",
		"acme/one":     "Provider 'acme' is not configured",
		"builtin/gpt":  "was not found",
		"builtin/a\nb": "was not found",
	} {
		_, err := r.Stream(t.Context(), []string{model}, Request{}, nil, nil)
		if e := wantClass(t, err, ModelNotFound); !strings.Contains(e.Error(), says) {
			t.Errorf("%q: got %q, want %q", model, e, says)
		}
	}
	if _, err := r.Stream(t.Context(), nil, Request{}, nil, nil); err == nil || !strings.Contains(err.Error(), "agents.NAME.model") {
		t.Errorf("no model: got %v", err)
	}
	if _, err := r.Models(t.Context(), "acme"); err == nil {
		t.Error("the models of an unknown provider were listed")
	}
	if got, err := r.Models(t.Context(), "builtin"); err != nil || fmt.Sprint(got) != "[builtin/offline]" {
		t.Errorf("got %v, %v", got, err)
	}
}

// The whole way: a real server that is overloaded twice, then a fallback of the other style.
func TestRouterOnTheWire(t *testing.T) {
	s := modeltest.New(t)
	r := New([]ProviderConfig{
		{Name: "a", BaseURL: s.AnthropicURL(), Style: StyleAnthropic},
		{Name: "o", BaseURL: s.OpenAIURL(), Style: StyleOpenAI},
	}, noKey, quiet)
	r.pause = func(int, time.Duration) time.Duration { return 0 }
	busy := modeltest.Script{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}
	s.Push(busy, busy, busy, modeltest.Script{Chunks: []string{"at ", "last"}})
	var got string
	res, err := r.Stream(t.Context(), []string{"a/x", "o/y"}, Request{Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, func(c Chunk) { got += c.Text }, nil)
	if err != nil || got != "at last" || res.Model != "o/y" {
		t.Errorf("got %q of %s, %v; want the answer of o/y", got, res.Model, err)
	}
	var asked []string
	for _, q := range s.Requests() {
		asked = append(asked, string(q.Style)+" "+q.Model)
	}
	if want := []string{"anthropic x", "anthropic x", "anthropic x", "openai y"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("got requests %q, want %q", asked, want)
	}
	if names := r.Names(); !reflect.DeepEqual(names, []string{"a", "builtin", "o"}) {
		t.Errorf("got providers %q", names)
	}
}
