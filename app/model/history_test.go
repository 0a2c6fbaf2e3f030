package model

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

// short writes a conversation as one line a message.
func short(messages []Message) (out []string) {
	for _, m := range messages {
		s := string(m.Role) + ":" + m.Text
		for _, c := range m.ToolCalls {
			s += "+" + c.ID
		}
		if m.ToolCallID != "" {
			s += "=" + m.ToolCallID
		}
		if m.ToolError {
			s += "!"
		}
		out = append(out, s)
	}
	return out
}

func TestWellFormed(t *testing.T) {
	user := func(text string) Message { return Message{Role: session.RoleUser, Text: text} }
	says := func(text string, calls ...string) Message {
		m := Message{Role: session.RoleAssistant, Text: text}
		for _, id := range calls {
			m.ToolCalls = append(m.ToolCalls, session.ToolCall{ID: id, Name: "x"})
		}
		return m
	}
	result := func(id, text string) Message {
		return Message{Role: session.RoleTool, ToolCallID: id, Text: text}
	}
	for _, c := range []struct {
		name   string
		in     []Message
		system string
		want   []string
	}{
		{"nothing", nil, "", nil},
		{"plain", []Message{user("a"), says("b"), user("c")}, "", []string{"user:a", "assistant:b", "user:c"}},
		{"order of results", []Message{user("a"), says("", "1", "2"), result("2", "two"), result("1", "one")}, "", []string{"user:a", "assistant:+1+2", "tool:one=1", "tool:two=2"}},
		{"aborted turn", []Message{user("a"), says("", "1", "2"), result("1", "one"), user("b")}, "", []string{"user:a", "assistant:+1+2", "tool:one=1", "tool:" + interrupted + "=2!", "user:b"}},
		{"result without call", []Message{result("0", "lost"), user("a"), says("b"), result("1", "lost")}, "", []string{"user:a", "assistant:b"}},
		{"foreign and second results", []Message{user("a"), says("", "1"), result("9", "x"), result("1", "one"), result("1", "again")}, "", []string{"user:a", "assistant:+1", "tool:one=1"}},
		{"two users", []Message{user("a"), user("b")}, "", []string{"user:a\n\nb"}},
		{"two answers", []Message{user("a"), says("b"), says("c")}, "", []string{"user:a", "assistant:b\n\nc"}},
		{"no join over calls", []Message{user("a"), says("b", "1"), result("1", "r"), says("c")}, "", []string{"user:a", "assistant:b+1", "tool:r=1", "assistant:c"}},
		{"empty ones", []Message{user(" \n"), says(""), user("a"), says("")}, "", []string{"user:a"}},
		{"system", []Message{{Role: session.RoleSystem, Text: "s"}, user("a"), {Role: session.RoleSystem, Text: "t"}, user("b")}, "s\n\nt", []string{"user:a\n\nb"}},
		{"unknown role", []Message{{Role: "oracle", Text: "x"}, user("a")}, "", []string{"user:a"}},
	} {
		before := fmt.Sprint(c.in)
		system, got := wellFormed(c.in)
		if system != c.system || !reflect.DeepEqual(short(got), c.want) {
			t.Errorf("%s: got %q, %q; want %q, %q", c.name, system, short(got), c.system, c.want)
		}
		if fmt.Sprint(c.in) != before {
			t.Errorf("%s: the caller's messages were changed", c.name)
		}
	}
}

func TestWireID(t *testing.T) {
	for _, form := range []*regexp.Regexp{anyID, mistralID} {
		seen := map[string]bool{}
		for _, id := range []string{"", "call_1", "functions.search:0", "ab cd", strings.Repeat("x", 65), "abcDEF123"} {
			got := wireID(id, form)
			if !form.MatchString(got) || seen[got] || wireID(id, form) != got || wireID(got, form) != got {
				t.Errorf("wireID(%q, %s): got %q, want a stable and distinct id of that form", id, form, got)
			}
			seen[got] = true
		}
	}
	if got := wireID("toolu_01-A", anyID); got != "toolu_01-A" {
		t.Errorf("got %q, want a good id unchanged", got)
	}
}

func TestSchema(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, `{"properties":{},"type":"object"}`},
		{`null`, `{"properties":{},"type":"object"}`},
		{`[1`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","properties":null}`, `{"properties":{},"type":"object"}`},
		{`{"$schema":"s","properties":{"a":{"minimum":9007199254740993}},"required":["a"]}`, `{"properties":{"a":{"minimum":9007199254740993}},"required":["a"],"type":"object"}`},
	} {
		if got, err := json.Marshal(schema(json.RawMessage(c.in))); err != nil || string(got) != c.want {
			t.Errorf("schema(%s): got %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}
