package model

import (
	"strings"
	"testing"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
)

// One answer of 200 chunks over a real connection, client and server in one process.
func BenchmarkStream(b *testing.B) {
	s, err := modeltest.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	chunks := strings.SplitAfter(strings.Repeat("word ", 200), " ")
	s.Handle(func(*modeltest.Request) modeltest.Script { return modeltest.Script{Chunks: chunks} })
	for name, p := range map[string]Provider{
		"openai":    openAI{newEndpoint(ProviderConfig{Name: "t", BaseURL: s.OpenAIURL()}, noKey, quiet)},
		"anthropic": anthropicStyle{newEndpoint(ProviderConfig{Name: "t", BaseURL: s.AnthropicURL()}, noKey, quiet)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Stream(b.Context(), Request{Model: "m", Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, func(Chunk) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
