package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

func TestMessagePages(t *testing.T) {
	s := open(t, Options{})
	for _, k := range []session.Key{key(1), key(2), key(3)} {
		for i := range 10 {
			s.Append(k, "main", user(fmt.Sprintf("%c%d", 'a'+k.ID[35]-'1', i+1)))
		}
	}
	s.CreateSession(key(4), "main").must(t)
	tests := []struct {
		q           MessageQuery
		first, last uint64
	}{
		{MessageQuery{}, 1, 10},
		{MessageQuery{Limit: 3}, 8, 10},
		{MessageQuery{Limit: 3, Before: 8}, 5, 7},
		{MessageQuery{Limit: 3, Before: 2}, 1, 1},
		{MessageQuery{Limit: 3, Before: 1}, 0, 0},
		{MessageQuery{Limit: 100, Before: 5}, 1, 4},
		{MessageQuery{Limit: 2, Before: 11}, 9, 10},
		{MessageQuery{Limit: 2, Before: ^uint64(0)}, 9, 10},
	}
	for _, k := range []session.Key{key(1), key(2), key(3)} {
		for _, tt := range tests {
			want := []string{}
			for n := tt.first; n <= tt.last && n > 0; n++ {
				want = append(want, fmt.Sprintf("%d %c%d", n, 'a'+k.ID[35]-'1', n))
			}
			got, err := s.Messages(k, tt.q)
			if err != nil || !slices.Equal(contents(got), want) {
				t.Errorf("%s %+v: got %q, %v; want %q", k, tt.q, contents(got), err, want)
			}
		}
	}
	if got, err := s.Messages(key(4), MessageQuery{}); err != nil || len(got) != 0 {
		t.Errorf("a chat without messages: got %q, %v; want none", contents(got), err)
	}
	if _, err := s.Messages(key(5), MessageQuery{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no chat: got %v, want ErrNotFound", err)
	}
}

func TestMessageLimits(t *testing.T) {
	s := open(t, Options{})
	msgs := make([]session.Message, MaxMessages+1)
	for i := range msgs {
		msgs[i] = user("x")
	}
	s.Append(key(1), "main", msgs...).must(t)
	for limit, want := range map[int]int{0: DefaultMessages, -5: DefaultMessages, 1 << 30: MaxMessages} {
		if got, err := s.Messages(key(1), MessageQuery{Limit: limit}); err != nil || len(got) != want || got[len(got)-1].Seq != MaxMessages+1 {
			t.Errorf("limit %d: got %d messages, %v; want the last %d", limit, len(got), err, want)
		}
	}
}

func TestMessageSurvivesWhole(t *testing.T) {
	s := open(t, Options{now: (&clock{t: at(7)}).now})
	calls := []session.ToolCall{{ID: "c1", Name: "clock", Arguments: json.RawMessage(`{"zone":"<UTC>"}`)}}
	usage := &session.Usage{Input: 1, Output: 2}
	in := []session.Message{
		{Role: session.RoleUser, Content: "héllo \U0001F600 </script>\x00\u2028", Timestamp: at(1)},
		{Role: session.RoleAssistant, Timestamp: at(2), Agent: "main", TaskID: "t", ToolCalls: calls, Usage: usage},
		{Role: session.RoleTool, Content: strings.Repeat("x", 1<<20), Timestamp: at(3), ToolCallID: "c1", ToolError: true},
		{Role: session.RoleAssistant, Content: "part", Timestamp: at(4), Error: "no", Aborted: true},
		{Role: session.RoleUser, Content: "no time"},
	}
	want := slices.Clone(in)
	for i := range want {
		want[i].Seq = uint64(i + 1)
	}
	want[1].ToolCalls = []session.ToolCall{{ID: "c1", Name: "clock", Arguments: json.RawMessage(`{"zone":"\u003cUTC\u003e"}`)}}
	want[1].Usage = &session.Usage{Input: 1, Output: 2}
	want[4].Timestamp = at(7)
	p := s.Append(key(1), "main", in...)
	calls[0].Name, usage.Input, in[0].Content = "changed", 99, "changed" // the store has its own copies
	calls[0].Arguments[2] = 'X'
	p.must(t)
	got, err := s.Messages(key(1), MessageQuery{})
	if err != nil || !reflect.DeepEqual(got, want) {
		for i := range got {
			got[i].Content = fmt.Sprintf("%.40s", got[i].Content)
		}
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnstorableMessageFailsAlone(t *testing.T) {
	s := open(t, Options{})
	good := s.Append(key(1), "main", user("one"))
	bad := s.Append(key(1), "main", session.Message{Role: session.RoleAssistant, ToolCalls: []session.ToolCall{{Arguments: json.RawMessage("{")}}})
	after := s.Append(key(1), "main", user("two"))
	if err := bad.Wait(context.Background()); !errors.Is(err, ErrInvalid) {
		t.Errorf("broken JSON: got %v, want ErrInvalid", err)
	}
	good.must(t)
	after.must(t)
	if got, err := s.Messages(key(1), MessageQuery{}); err != nil || !slices.Equal(contents(got), []string{"1 one", "2 two"}) {
		t.Errorf("the others: got %q, %v", contents(got), err)
	}
}
