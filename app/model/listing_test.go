package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestModels(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		b.SetModels("zeta", "models/alpha", "zeta", "")
		got, err := b.provider.(Lister).Models(t.Context())
		if err != nil || strings.Join(got, " ") != "alpha zeta" {
			t.Errorf("got %q, %v; want alpha and zeta", got, err)
		}
		b.endpoint.cfg.Credential = "c"
		b.endpoint.keys = func(context.Context, string) (string, error) { return "wrong", nil }
		b.RequireKey("right")
		_, err = b.provider.(Lister).Models(t.Context())
		wantClass(t, err, Authentication)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("stopped")
		cancel(why)
		if _, err := b.provider.(Lister).Models(ctx); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestOddModelLists(t *testing.T) {
	for body, want := range map[string]string{
		`[{"id":"b"},{"id":"a"}]`:        "a b",
		`{"object":"list","data":null}`:  "",
		`{"data":[{"id":"a","x":[1]}]} `: "a",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		e := newEndpoint(ProviderConfig{Name: "acme", BaseURL: s.URL}, noKey, quiet)
		if got, err := (openAI{e}).Models(t.Context()); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, %v; want %q", body, got, err, want)
		}
		s.Close()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))
	defer s.Close()
	_, err := openAI{newEndpoint(ProviderConfig{Name: "acme", BaseURL: s.URL}, noKey, quiet)}.Models(t.Context())
	wantClass(t, err, Unknown)
}
