package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// awkward keys: with characters that escapes change, of every length modulo three, short and long.
var awkwardKeys = []string{
	testKey, testKey + "1", testKey + "22",
	"abcdefgh/ijkl+mnop=qrst&uv\"wx\\yz", "<script>alert('x')</script>&co", "пароль-длинный-ключ", "tab\tnewline\nkey-of-24",
	"exactly-16-bytes", "only-15-bytes--", "12bytes-long", "eightbyt", "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQ",
	"~~~???>>>~~~???>>>", strings.Repeat("ab/+", 512), Generate(),
}

// leaks lists the forms in which a key must not be left, as a search through logs would look for them.
func leaks(key string) map[string]string {
	all := map[string]string{
		"itself": key, "hex": hex.EncodeToString([]byte(key)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(key))),
		"query": url.QueryEscape(key), "path": url.PathEscape(key), "JSON": jsonEscape(key), "quoted": inner(strconv.Quote(key)),
		"bytes": inner(fmt.Sprint([]byte(key))), "Go bytes": fmt.Sprintf("%#v", []byte(key))[7:],
		"JSON in JSON": jsonEscape(jsonEscape(key)), "lower escapes": lowerEscapes(url.QueryEscape(key)),
	}
	for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding} {
		all["base64 "+name] = e.EncodeToString([]byte(key))
	}
	if len(key) >= prefixFrom {
		all["prefix"] = key[:prefixBytes]
		all["first 20"] = key[:min(20, len(key))]
		all["hex prefix"] = hex.EncodeToString([]byte(key[:prefixBytes+3]))
		all["base64 prefix"] = base64.RawStdEncoding.EncodeToString([]byte(key[:12]))
	}
	return all
}

func TestRedactForms(t *testing.T) {
	for _, key := range awkwardKeys {
		r := NewRedactor()
		r.Add(key)
		for form, text := range leaks(key) {
			for _, around := range [][2]string{{"", ""}, {"token=", " end"}, {"\"", "\""}, {"x: ", "\n"}, {"(", ")"}, {text + " ", " " + text}} {
				got := r.Redact(around[0] + text + around[1])
				if strings.Contains(got, text) || !strings.Contains(got, redacted) {
					t.Errorf("key of %d bytes as %s: still there", len(key), form)
				}
				if around[0] != text+" " && got != around[0]+redacted+around[1] && !strings.Contains(form, "base64") && form != "Go bytes" {
					t.Errorf("key of %d bytes as %s: got %d bytes, want all of it and no more redacted", len(key), form, len(got))
				}
			}
		}
	}
}

// As in an Authorization header of type Basic, the key stands anywhere in an encoded text.
func TestRedactInsideBase64(t *testing.T) {
	for _, key := range awkwardKeys {
		if len(key) < wordBelow {
			continue
		}
		r := NewRedactor()
		r.Add(key)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			for _, before := range []string{"", "u", "us", "usr", "user:", "{\"token\":\""} {
				for _, after := range []string{"", "x", "xy", "xyz", "\"}"} {
					encoded := e.EncodeToString([]byte(before + key + after))
					got := r.Redact("Basic " + encoded + "\n")
					if !strings.Contains(got, redacted) {
						t.Errorf("key of %d bytes between %q and %q: not found", len(key), before, after)
					}
					// What is left may be what was around the key, and the few bits shared with it.
					if left := len(got) - len("Basic "+redacted+"\n"); left > (len(before)+len(after))*4/3+6 {
						t.Errorf("key of %d bytes between %q and %q: %d characters left", len(key), before, after, left)
					}
				}
			}
		}
	}
}

func TestRedactLeavesTheRest(t *testing.T) {
	r := NewRedactor()
	for _, key := range []string{"", "a", "abc", testKey, "pass", "word"} {
		r.Add(key)
	}
	for text, want := range map[string]string{
		"": "", "a": "a", "abc": "abc", "sk-test": "sk-test", "sk-te": "sk-te",
		"password": "password", "pass": redacted, "pass word": redacted + " " + redacted, "passport, bypass": "passport, bypass",
		"pass,": redacted + ",", "_pass": "_pass", "(pass)": "(" + redacted + ")", "übpass": "übpass",
		"sk-test-4fQ7": redacted, "sk-test-4fQ9": redacted + "9", testKey + testKey: redacted + redacted,
		"an ordinary line of a log, with punctuation: 1 + 1 = 2": "an ordinary line of a log, with punctuation: 1 + 1 = 2",
	} {
		if got := r.Redact(text); got != want {
			t.Errorf("Redact(%q): got %q, want %q", text, got, want)
		}
	}
	var none *Redactor
	none.Add(testKey)
	if got := none.Redact(testKey); got != testKey {
		t.Errorf("got %q from no redactor, want the text", got)
	}
	if got := (&Redactor{}).Redact(testKey); got != testKey {
		t.Errorf("got %q from an empty redactor, want the text", got)
	}
}

func TestRedactLimits(t *testing.T) {
	for _, c := range []struct {
		key, text string
		found     bool
	}{
		{strings.Repeat("k", MinRedacted-1), strings.Repeat("k", MinRedacted-1), false},
		{"k234", "k234", true},
		{"k234567", "k2345678", false}, {"k2345678", "k23456789", true}, // word from wordBelow
		{"k23456789012345", "k2345678", false}, {"k234567890123456", "k2345678", true}, // prefix from prefixFrom
	} {
		r := NewRedactor()
		r.Add(c.key)
		if got := r.Redact(c.text) != c.text; got != c.found {
			t.Errorf("key of %d bytes in %q: got %v, want %v", len(c.key), c.text, got, c.found)
		}
	}
}

func TestRedactorUnderConcurrentUse(t *testing.T) {
	r := NewRedactor()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				key := fmt.Sprintf("%d-%d-key-with-some-length", i, j)
				r.Add(key)
				if got := r.Redact(key); got != redacted {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	all.Wait()
}

func TestWriterAcrossWrites(t *testing.T) {
	for _, key := range append(awkwardKeys, "word") {
		r := NewRedactor()
		r.Add(key)
		for form, text := range leaks(key) {
			line := "before " + text + ", after\n"
			want := r.Redact(line)
			step := max(1, len(line)/40)
			for size := 1; size < len(line); size += step {
				var out bytes.Buffer
				w := r.Writer(&out)
				for i := 0; i < len(line); i += size {
					part := []byte(line[i:min(i+size, len(line))])
					if n, err := w.Write(part); n != len(part) || err != nil {
						t.Fatalf("got %d, %v, want %d", n, err, len(part))
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if out.String() != want {
					t.Fatalf("key of %d bytes as %s in parts of %d: got %d bytes, want %d", len(key), form, size, out.Len(), len(want))
				}
			}
		}
	}
}

func TestWriterHoldsOnlyWhatMayBeAKey(t *testing.T) {
	r := NewRedactor()
	r.Add(testKey)
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, c := range []struct{ write, want string }{
		{"a whole line\n", "a whole line\n"},
		{"prompt> ", "prompt> "},
		{"x sk-te", "x "},         // may be one
		{"n\n", "sk-ten\n"},       // was none
		{testKey[:10], ""},        // is one, its end is open
		{testKey[10:], ""},        // is complete; nothing longer is possible
		{" end\n", " end\n"},      //
		{"sk-test-4", ""},         //
		{"", ""},                  //
		{"!\n", redacted + "!\n"}, // a beginning
	} {
		out.Reset()
		if _, err := w.Write([]byte(c.write)); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if c.write == testKey[10:] { // shown at once or with what follows
			c.want = redacted
		}
		if got != c.want {
			t.Errorf("after %q: got %q, want %q", cut(c.write, 8), got, c.want)
		}
	}
	out.Reset()
	if _, err := w.Write([]byte("sk-t")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || out.String() != "sk-t" {
		t.Errorf("got %q, %v after Flush, want what was held", out.String(), err)
	}
}

func TestWriterBelowFails(t *testing.T) {
	r := NewRedactor()
	r.Add(testKey)
	w := r.Writer(failing{})
	for _, text := range []string{"plain", testKey + "\n"} {
		if _, err := w.Write([]byte(text)); err == nil {
			t.Error("got no error, want the one of the writer below")
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

func FuzzRedact(f *testing.F) {
	f.Add("sk-test-4fQ7zP/+2Lw8Rk0Yb6Xn", "token ", " end", uint8(3))
	f.Add("word", "pass", "word word", uint8(1))
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaa", "aaa", "aaaaaaaa", uint8(7))
	f.Fuzz(func(t *testing.T, key, before, after string, size uint8) {
		if len(key) < wordBelow || len(key) > 200 || len(before)+len(after) > 500 {
			return
		}
		r := NewRedactor()
		r.Add(key)
		line := before + key + after
		got := r.Redact(line)
		if strings.Contains(got, key) && !strings.Contains(redacted, key) {
			t.Errorf("the key is still there")
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		n := int(size)%16 + 1
		for i := 0; i < len(line); i += n {
			if _, err := w.Write([]byte(line[i:min(i+n, len(line))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != got {
			t.Errorf("in parts of %d: got %q, want %q", n, out.String(), got)
		}
	})
}

func benchmarkRedactor() *Redactor {
	r := NewRedactor()
	for i := range 10 {
		r.Add(fmt.Sprintf("sk-prov%d-%s", i, Generate()))
	}
	return r
}

const benchmarkLine = `time=2026-01-02T03:04:05.678Z level=INFO msg="turn finished" session=mcp:5d2c6e0f-0d5b-4a53-9f6a-3f6f1a4a6b1e agent=main model=anthropic/claude-sonnet-4-20250514 input=1234 output=567 took=1.234s` + "\n"

func BenchmarkRedactNothing(b *testing.B) {
	r := benchmarkRedactor()
	b.SetBytes(int64(len(benchmarkLine)))
	b.ReportAllocs()
	for b.Loop() {
		r.Redact(benchmarkLine)
	}
}

func BenchmarkWriterNothing(b *testing.B) {
	w := benchmarkRedactor().Writer(new(discard))
	line := []byte(benchmarkLine)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = w.Write(line)
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkRedactLarge(b *testing.B) {
	r := benchmarkRedactor()
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = byte(' ' + random.IntN(95))
	}
	s := string(text)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		r.Redact(s)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := benchmarkRedactor()
	known := "sk-known-" + Generate()
	r.Add(known)
	b.ReportAllocs()
	for b.Loop() {
		r.Add(known)
	}
}

func TestNothingFoundAllocatesNothing(t *testing.T) {
	r := benchmarkRedactor()
	if n := testing.AllocsPerRun(100, func() { r.Redact(benchmarkLine) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	b, err := json.Marshal(benchmarkLine)
	if err != nil || r.Redact(string(b)) != string(b) {
		t.Errorf("got something redacted, %v, want nothing", err)
	}
}
