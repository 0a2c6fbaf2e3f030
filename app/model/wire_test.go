package model

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app/model/modeltest"
)

func TestRefusalsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		status int
		header http.Header
		body   string
		want   Class
		says   string
	}{
		{401, nil, `{"error":{"message":"no","type":"invalid_request_error"}}`, Authentication, "Authentication failed for model 'test/m'."},
		{404, nil, `{"error":{"message":"model m not found","type":"not_found_error"}}`, ModelNotFound, "Model 'test/m' was not found"},
		{404, http.Header{"Content-Type": {"text/plain"}}, "404 page not found", BadRequest, "ends in /v1"},
		{429, http.Header{"Retry-After": {"9"}}, `{}`, RateLimited, "in 9s"},
		{402, nil, `{}`, Billing, "billing page"},
		{413, nil, `{}`, ContextOverflow, "too long"},
		{504, nil, `{}`, Timeout, "in time"},
		{529, nil, `{}`, Overloaded, "overloaded"},
		{500, nil, "\x00\xff garbage", Overloaded, "overloaded"},
		{400, nil, strings.Repeat("x", 1<<20), BadRequest, "rejected"},
		{307, http.Header{"Location": {"http://127.0.0.1:1/"}}, `{}`, BadRequest, "redirects"},
		{200, http.Header{"Content-Type": {"text/html"}}, "<html>sign in</html>", Unknown, "not a model's answer"},
		{200, http.Header{"Content-Type": {"application/json"}}, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`, Overloaded, "overloaded"},
		{200, http.Header{"Content-Type": {"application/json"}}, `{"choices":[]}`, Unknown, "not a model's answer"},
		{200, http.Header{"Content-Type": {"text/event-stream"}}, "data: {broken\n\n", Unknown, "not a model's answer"},
		{200, http.Header{"Content-Type": {"text/event-stream"}}, "\n", Overloaded, "closed the connection"},
	} {
		bothStyles(t, func(t *testing.T, b *bench) {
			b.Push(modeltest.Script{Status: c.status, Header: c.header, Body: c.body})
			_, err := b.ask(t.Context(), nil)
			e := wantClass(t, err, c.want)
			if !strings.Contains(e.Error(), c.says) || e.Model != "test/m" || e.Provider != "test" {
				t.Errorf("%d %.40s: got %q for %s of %s, want %q", c.status, c.body, e, e.Model, e.Provider, c.says)
			}
			if c.header.Get("Retry-After") == "9" && e.RetryAfter != 9*time.Second {
				t.Errorf("got RetryAfter %v, want 9s", e.RetryAfter)
			}
			if n := len(b.Requests()); n != 1 {
				t.Errorf("got %d requests, want no retry by the library", n)
			}
		})
	}
}

func TestMidStreamFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		script modeltest.Script
		want   Class
	}{
		{"connection closed", modeltest.Script{CloseMidStream: true}, Overloaded},
		{"no finish", modeltest.Script{NoFinish: true}, Overloaded},
		{"overloaded", modeltest.Script{ErrorEvent: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, Overloaded},
		{"rate", modeltest.Script{ErrorEvent: `{"type":"error","error":{"code":429,"message":"slow"}}`}, RateLimited},
		{"words", modeltest.Script{ErrorEvent: `{"type":"error","error":"an error was encountered while running the model"}`}, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothStyles(t, func(t *testing.T, b *bench) {
				c.script.Chunks = []string{"some ", "text"}
				b.Push(c.script)
				r, err := b.ask(t.Context(), nil)
				wantClass(t, err, c.want)
				if r.Text != "some text" {
					t.Errorf("got %q, want what was received", r.Text)
				}
			})
		})
	}
}

func TestMissingLastEvent(t *testing.T) {
	event := http.Header{"Content-Type": {"text/event-stream"}}
	for style, body := range map[Style]string{
		StyleOpenAI:    "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}",
		StyleAnthropic: "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}",
	} {
		b := newBench(t, style, quiet)
		b.Push(modeltest.Script{Header: event, Body: body})
		if r, err := b.ask(t.Context(), nil); err != nil || r.Text != "ok" {
			t.Errorf("%s: got %q, %v; want ok", style, r.Text, err)
		}
	}
}

func TestStreamLeftOpen(t *testing.T) {
	for style, body := range map[Style]string{
		StyleOpenAI:    "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		StyleAnthropic: "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
	} {
		gone := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(gone)
		}))
		e := newEndpoint(ProviderConfig{Name: "test", BaseURL: s.URL, Style: style}, noKey, quiet)
		var p Provider = openAI{e}
		if style == StyleAnthropic {
			p = anthropicStyle{e}
		}
		began := time.Now()
		r, err := p.Stream(t.Context(), Request{Model: "m"}, nil)
		if took := time.Since(began); err != nil || r.Text != "ok" || took > time.Second {
			t.Errorf("%s: got %q, %v after %v; want ok at once", style, r.Text, err, took)
		}
		<-gone
		s.Close()
	}
}
