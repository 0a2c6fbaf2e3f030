package agent

import (
	"fmt"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

func TestConversation(t *testing.T) {
	user := func(s string) session.Message { return session.Message{Role: session.RoleUser, Content: s} }
	asst := func(s string, calls ...string) session.Message {
		m := session.Message{Role: session.RoleAssistant, Content: s}
		for _, id := range calls {
			m.ToolCalls = append(m.ToolCalls, session.ToolCall{ID: id, Name: "t" + id})
		}
		return m
	}
	res := func(id string) session.Message {
		return session.Message{Role: session.RoleTool, Content: "r" + id, ToolCallID: id}
	}
	for _, c := range []struct {
		name   string
		stored []session.Message
		want   string
	}{
		{"nothing", nil, ""},
		{"plain", []session.Message{user("a"), asst("b")}, "user a; assistant b"},
		{"cut off in the middle of a turn", []session.Message{res("1"), asst("x"), user("a"), asst("b")}, "user a; assistant b"},
		{"tool calls", []session.Message{user("a"), asst("", "1", "2"), res("1"), res("2"), asst("b")}, "user a; assistant (1,2); tool r1; tool r2; assistant b"},
		{"lost result", []session.Message{user("a"), asst("", "1", "2"), res("2"), user("c")}, "user a; assistant (1,2); tool " + lostResult + "; tool r2; user c"},
		{"stray result", []session.Message{user("a"), res("9"), asst("b")}, "user a; assistant b"},
		{"failed before the first word", []session.Message{user("a"), asst(""), user("b")}, "user a; user b"},
	} {
		var got []string
		for _, m := range conversation(c.stored) {
			s := strings.TrimSpace(fmt.Sprintf("%s %s", m.Role, m.Text))
			var ids []string
			for _, k := range m.ToolCalls {
				ids = append(ids, k.ID)
			}
			if len(ids) > 0 {
				s += " (" + strings.Join(ids, ",") + ")"
			}
			got = append(got, s)
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, g, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"aéééé", 6, "aé…"}} {
		if got := clip(c.in, c.n); got != c.want || len(got) > c.n {
			t.Errorf("clip(%q, %d): got %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
