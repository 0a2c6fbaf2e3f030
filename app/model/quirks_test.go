package model

import (
	"fmt"
	"strings"
	"testing"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
)

func TestQuirks(t *testing.T) {
	half := 0.5
	bothStyles(t, func(t *testing.T, b *bench) {
		refuse := func(message string) modeltest.Script {
			return modeltest.Script{Status: 400, Body: fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, message)}
		}
		ask := func() (Response, error) {
			return b.provider.Stream(t.Context(), Request{Model: "m", ForceTool: "x", Params: Params{Temperature: &half, TopP: &half, MaxTokens: 9}, Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, nil)
		}
		b.Push(refuse("`temperature` and `top_p` cannot both be specified for this model."),
			refuse("Unsupported value: 'temperature' does not support 0.5 with this model."),
			refuse("deepseek-reasoner does not support this tool_choice"))
		if _, err := ask(); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(); err != nil {
			t.Fatal(err)
		}
		qs := b.Requests()
		if len(qs) != 5 {
			t.Fatalf("got %d requests, want 4 for the first answer and 1 for the second", len(qs))
		}
		if qs[1].TopP != nil || qs[1].Temperature == nil || qs[1].ForceTool == "" {
			t.Errorf("second request: got %+v, want it without top_p only", qs[1])
		}
		if q := qs[4]; q.TopP != nil || q.Temperature != nil || q.ForceTool != "" || q.MaxTokens != 9 {
			t.Errorf("next answer: got %+v, want what was refused left out at once", q)
		}
		b.Push(refuse("max_tokens must be less than 8"), refuse("temperature must be between 0 and 1"))
		for range 2 {
			_, err := ask()
			wantClass(t, err, BadRequest)
		}
	})
}

func TestQuirksOfOpenAI(t *testing.T) {
	b := newBench(t, StyleOpenAI, quiet)
	b.Push(modeltest.Script{Status: 400, Body: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`},
		modeltest.Script{Status: 422, Body: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}`})
	_, err := b.provider.Stream(t.Context(), Request{Model: "m", Params: Params{MaxTokens: 9}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := b.Requests()[2]
	if q.WantUsage || q.MaxTokens != 9 || strings.Contains(string(q.Body), `"max_tokens"`) {
		t.Errorf("got %s, want max_completion_tokens and no stream_options", q.Body)
	}
}
