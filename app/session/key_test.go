package session

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const id = "f4ec566c-8d6b-4e0c-9a53-0d6f3f0a7b21"

func TestParse(t *testing.T) {
	tests := []struct{ in, want string }{
		{id, "mcp:" + id},
		{strings.ToUpper(id), "mcp:" + id},
		{"mcp:" + id, "mcp:" + id},
		{"desktop:" + id, "desktop:" + id},
		{"api:" + id, "api:" + id},
		{"cli:" + id, "cli:" + id},
		{"agent:main:desktop:" + id, "desktop:" + id},
		{"agent:main:" + id, "mcp:" + id},
		{"agent::cli:" + id, "cli:" + id},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil || got.String() != tt.want {
			t.Errorf("Parse(%q): got %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "mcp:", ":" + id, "MCP:" + id, "web:" + id, "agent:main", "agent:main:", "agent:a:b:" + id,
		id[:35], id + "0", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), "mcp:" + id + " ",
		strings.ReplaceAll(id, "-", "_"), "mcp:mcp:" + id, "\x00", strings.Repeat("x", 1<<20),
	} {
		got, err := Parse(in)
		if !errors.Is(err, ErrBadKey) || !got.IsZero() {
			t.Errorf("Parse(%.60q): got %q, %v; want ErrBadKey", in, got, err)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("Parse(%.60q): the error has %d bytes, want it bounded", in, len(err.Error()))
		}
	}
}

func TestKeyForms(t *testing.T) {
	k := Key{Channel: ChannelMCP, ID: id}
	if got, want := k.Stored("main"), "agent:main:mcp:"+id; got != want {
		t.Errorf("Stored: got %q, want %q", got, want)
	}
	for channel, want := range map[string]string{
		ChannelMCP: "MCP f4ec566c", ChannelDesktop: "Desktop f4ec566c", ChannelAPI: "API f4ec566c", ChannelCLI: "CLI f4ec566c",
	} {
		if got := (Key{Channel: channel, ID: id}).Short(); got != want {
			t.Errorf("Short of %s: got %q, want %q", channel, got, want)
		}
	}
	n := NewKey(ChannelCLI)
	if p, err := Parse(n.String()); err != nil || p != n {
		t.Errorf("a new key read back: got %q, %v; want %q", p, err, n)
	}
	if n == NewKey(ChannelCLI) {
		t.Errorf("two new keys are equal: %q", n)
	}
}

func TestKeyJSON(t *testing.T) {
	k := Key{Channel: ChannelDesktop, ID: id}
	b, err := json.Marshal(map[string]Key{"key": k})
	if want := `{"key":"desktop:` + id + `"}`; err != nil || string(b) != want {
		t.Fatalf("marshalling: got %s, %v; want %s", b, err, want)
	}
	var back map[string]Key
	if err := json.Unmarshal(b, &back); err != nil || back["key"] != k {
		t.Errorf("unmarshalling: got %q, %v; want %q", back["key"], err, k)
	}
	if err := json.Unmarshal([]byte(`{"key":"nonsense"}`), &back); !errors.Is(err, ErrBadKey) {
		t.Errorf("unmarshalling nonsense: got %v, want ErrBadKey", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(id)
	f.Add("agent:main:mcp:" + id)
	f.Fuzz(func(t *testing.T, s string) {
		k, err := Parse(s)
		if err != nil {
			return
		}
		for _, form := range []string{k.String(), k.Stored("main"), strings.ToUpper(k.ID)} {
			want := k
			if !strings.Contains(form, ":") {
				want.Channel = ChannelMCP
			}
			if got, err := Parse(form); err != nil || got != want {
				t.Errorf("%q as %q: got %q, %v; want %q", s, form, got, err, want)
			}
		}
	})
}
