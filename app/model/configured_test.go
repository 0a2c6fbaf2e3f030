package model

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/model/modeltest"
)

func TestNewRouter(t *testing.T) {
	s := modeltest.New(t)
	cfg := config.Default()
	cfg.Providers = map[string]config.Provider{
		"llama":  {BaseURL: s.OpenAIURL()},
		"claude": {BaseURL: s.AnthropicURL(), Type: config.StyleAnthropic, Credential: "c"},
		"openai": {BaseURL: s.OpenAIURL()},
	}
	keys := func(_ context.Context, name string) (string, error) {
		if name != "c" {
			return "", errors.New("unexpected credential " + name)
		}
		return "k", nil
	}
	r := NewRouter(cfg, keys, quiet)
	for _, model := range []string{"llama/x", "claude/x", "openai/x", "builtin/offline"} {
		if res, err := r.Stream(t.Context(), []string{model}, Request{Messages: says("hi")}, nil, nil); err != nil || res.Model != model {
			t.Errorf("%s: got %+v, %v; want an answer", model, res, err)
		}
	}
	for i, style := range []modeltest.Style{modeltest.OpenAI, modeltest.Anthropic, modeltest.OpenAI} {
		if q := s.Requests()[i]; q.Style != style {
			t.Errorf("request %d: got style %s, want %s", i, q.Style, style)
		}
	}
	// Known providers are there without an entry, and ask for their key before any request.
	for _, model := range []string{"anthropic/x", "groq/x"} {
		_, err := r.Stream(t.Context(), []string{model}, Request{Messages: says("hi")}, nil, nil)
		if e := wantClass(t, err, Authentication); !strings.Contains(e.Error(), "needs an API key") {
			t.Errorf("%s: got %q", model, e)
		}
	}
	for _, p := range []string{"ollama", "lm_studio", "gemini"} {
		if _, _, err := r.Provider(p + "/x"); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	// Without an address of its own llama cannot be asked.
	_, _, err := NewRouter(config.Default(), keys, quiet).Provider("llama/x")
	wantClass(t, err, ModelNotFound)
}
