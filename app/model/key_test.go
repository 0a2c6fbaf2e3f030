package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ionclaw-tray/app/model/modeltest"
)

func TestKeys(t *testing.T) {
	const key = "sk-test-0123456789abcdef"
	for _, style := range []Style{StyleOpenAI, StyleAnthropic} {
		b := newBench(t, style, quiet)
		var log bytes.Buffer
		b.endpoint.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		b.RequireKey(key)
		b.endpoint.cfg.Credential = "cred"
		given, giveErr := key, error(nil)
		b.endpoint.keys = func(_ context.Context, name string) (string, error) {
			if name != "cred" {
				t.Errorf("got credential %q, want cred", name)
			}
			return given, giveErr
		}
		if _, err := b.ask(t.Context(), nil); err != nil {
			t.Fatalf("%s: the right key: %v", style, err)
		}
		given = "sk-wrong-0123456789abcdef"
		_, err := b.ask(t.Context(), nil)
		e := wantClass(t, err, Authentication)
		if all := log.String() + fmt.Sprintf("%v %+v %v", e, e, e.Err); strings.Contains(all, given[:8]) {
			t.Errorf("%s: the key, or a part of it, is in %q", style, all)
		}
		before := len(b.Requests())
		given = ""
		_, err = b.ask(t.Context(), nil)
		if e := wantClass(t, err, Authentication); !strings.Contains(e.Error(), "ionclaw credential set cred") {
			t.Errorf("%s: got %q, want the remedy", style, e)
		}
		giveErr = errors.New("keyring locked")
		_, err = b.ask(t.Context(), nil)
		if e := wantClass(t, err, Authentication); !strings.Contains(e.Error(), "'cred'") || !errors.Is(err, giveErr) {
			t.Errorf("%s: got %q (%v), want the credential named and the cause kept", style, e, e.Err)
		}
		b.endpoint.cfg.Credential, b.endpoint.cfg.NeedsKey = "", true
		_, err = b.ask(t.Context(), nil)
		if e := wantClass(t, err, Authentication); !strings.Contains(e.Error(), "providers.test.credential") {
			t.Errorf("%s: got %q, want the line of the configuration", style, e)
		}
		if n := len(b.Requests()); n != before {
			t.Errorf("%s: got %d requests without a key, want none", style, n-before)
		}
	}
}

func TestKeyCancelled(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("stopped")
		b.endpoint.cfg.Credential = "cred"
		b.endpoint.keys = func(ctx context.Context, _ string) (string, error) {
			cancel(why)
			<-ctx.Done()
			return "", ctx.Err()
		}
		if _, err := b.ask(ctx, nil); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestProviderWordsAreLogged(t *testing.T) {
	bothStyles(t, func(t *testing.T, b *bench) {
		var log bytes.Buffer
		b.endpoint.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		b.Push(modeltest.Script{Status: 400, Body: `{"error":{"message":"quantum flux inverted"}}`})
		_, err := b.ask(t.Context(), nil)
		if !strings.Contains(log.String(), "quantum flux") || strings.Contains(err.Error(), "quantum") {
			t.Errorf("got log %q and error %q, want the words in the log only", log.String(), err)
		}
	})
}
