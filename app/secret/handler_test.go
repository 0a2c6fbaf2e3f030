package secret

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

type stringer struct{ key string }

func (s stringer) String() string { return "stringer " + s.key }

type valuer struct{ key string }

func (v valuer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("inner", v.key), slog.Any("error", errors.New(v.key)))
}

type textual struct{ key string }

func (x textual) MarshalText() ([]byte, error) { return []byte("text " + x.key), nil }

type marshaller struct{ key string }

func (m marshaller) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "{%q:%q}", "k", m.key), nil
}

type panicking struct{ key string }

func (p *panicking) Error() string { return p.key } // panics for a nil pointer

type loop struct {
	Key  string
	Next *loop
}

type hidden struct {
	Name  string
	token string
	Bytes []byte
}

func TestHandler(t *testing.T) {
	cyclic := &loop{Key: testKey}
	cyclic.Next = cyclic
	var nilError *panicking
	values := map[string]any{
		"string": testKey, "in text": "Bearer " + testKey, "bytes": []byte(testKey), "error": errors.New("refused " + testKey),
		"wrapped": fmt.Errorf("calling: %w", errors.New(testKey)), "stringer": stringer{testKey}, "pointer": &stringer{testKey},
		"valuer": valuer{testKey}, "text": textual{testKey}, "JSON": marshaller{testKey}, "struct": hidden{"n", testKey, []byte(testKey)},
		"pointer to struct": &hidden{"n", testKey, []byte(testKey)}, "map": map[string]any{"a": []string{testKey}}, "map key": map[string]int{testKey: 1},
		"header": http.Header{"Authorization": {"Bearer " + testKey}}, "slice": []any{1, testKey}, "cycle": cyclic, "nil error": nilError, "nil": nil,
		"group": slog.GroupValue(slog.Group("deep", slog.String("a", testKey), slog.Any("b", errors.New(testKey)))),
		"hex":   hex.EncodeToString([]byte(testKey)), "base64": base64.StdEncoding.EncodeToString([]byte("user:" + testKey)),
		"prefix": testKey[:8] + "…", "secret": Secret{testKey, SourceAge}, "array": [2]string{testKey, "x"}, "func": func() string { return testKey },
		"channel": make(chan string), "raw": slog.AnyValue(testKey),
	}
	for kind, value := range values {
		for _, style := range []string{"text", "json"} {
			t.Run(kind+" "+style, func(t *testing.T) {
				r := NewRedactor()
				r.Add(testKey)
				var out bytes.Buffer
				options := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
				var next slog.Handler = slog.NewTextHandler(&out, options)
				if style == "json" {
					next = slog.NewJSONHandler(&out, options)
				}
				log := slog.New(r.Handler(next))
				log.Debug("message with "+testKey, "attr", value)
				log.With("with", value).WithGroup("group "+testKey).Info("m", testKey, value)
				log.LogAttrs(context.Background(), slog.LevelError, "m", slog.Any("any", value), slog.Group("g", slog.Any("x", value)))
				for form, text := range leaks(testKey) {
					if strings.Contains(out.String(), text) {
						t.Errorf("the log shows the key as %s", form)
					}
				}
				if lines := strings.Count(out.String(), "\n"); lines != 3 {
					t.Errorf("got %d lines, want 3", lines)
				}
			})
		}
	}
}

func TestHandlerForKeysOfDigits(t *testing.T) {
	r := NewRedactor()
	r.Add("12345678901234")
	var out bytes.Buffer
	slog.New(r.Handler(slog.NewTextHandler(&out, nil))).Info("m", "int", 12345678901234, "uint", uint64(12345678901234), "other", 42)
	if s := out.String(); strings.Contains(s, "1234567") || !strings.Contains(s, "other=42") {
		t.Errorf("got %q, want the numbers redacted and 42 left", s)
	}
}

// Values without a key arrive as they were, whatever the handler below does with them.
func TestHandlerKeepsTypes(t *testing.T) {
	r := NewRedactor()
	r.Add(testKey)
	failure := errors.New("plain")
	seen := map[string]slog.Value{}
	log := slog.New(r.Handler(record{seen}))
	now := time.Now()
	log.Info("m", "i", 42, "d", time.Second, "t", now, "b", true, "f", 1.5, "e", failure, "s", []string{"x"}, "bytes", []byte("x"))
	for name, want := range map[string]slog.Kind{"i": slog.KindInt64, "d": slog.KindDuration, "t": slog.KindTime, "b": slog.KindBool, "f": slog.KindFloat64, "e": slog.KindAny, "s": slog.KindAny, "bytes": slog.KindAny} {
		if got := seen[name].Kind(); got != want {
			t.Errorf("%s: got kind %v, want %v", name, got, want)
		}
	}
	if seen["e"].Any() != failure {
		t.Errorf("got %v, want the same error", seen["e"])
	}
}

type record struct{ into map[string]slog.Value }

func (record) Enabled(context.Context, slog.Level) bool { return true }
func (r record) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		r.into[a.Key] = a.Value
		return true
	})
	return nil
}
func (r record) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r record) WithGroup(string) slog.Handler      { return r }

func BenchmarkHandlerNothing(b *testing.B) {
	log := slog.New(benchmarkRedactor().Handler(slog.NewTextHandler(new(discard), nil)))
	b.ReportAllocs()
	for b.Loop() {
		log.Info("turn finished", "session", "mcp:5d2c6e0f-0d5b-4a53-9f6a-3f6f1a4a6b1e", "input", 1234, "took", time.Second)
	}
}
