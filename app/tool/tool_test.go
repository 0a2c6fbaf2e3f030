package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type named string

func (n named) Spec() Spec { return Spec{Name: string(n)} }
func (n named) Run(context.Context, Call) (Result, error) {
	return Result{}, nil
}

func TestSelect(t *testing.T) {
	s, err := NewSet(named("search"), named("clock"), named("github-issues"), named("github-pulls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		patterns, tools, missing []string
	}{
		{nil, nil, nil},
		{[]string{"*"}, []string{"clock", "github-issues", "github-pulls", "search"}, nil},
		{[]string{"search", "clock", "search"}, []string{"clock", "search"}, nil},
		{[]string{"github-*", "browser"}, []string{"github-issues", "github-pulls"}, []string{"browser"}},
		{[]string{"[", "Clock"}, nil, []string{"[", "Clock"}},
	} {
		tools, missing := s.Select(c.patterns)
		var got []string
		for _, x := range tools {
			got = append(got, x.Spec().Name)
		}
		if !reflect.DeepEqual(got, c.tools) || !reflect.DeepEqual(missing, c.missing) {
			t.Errorf("Select(%q): got %q, missing %q; want %q, %q", c.patterns, got, missing, c.tools, c.missing)
		}
	}
}

func TestSelectAllOfNothing(t *testing.T) {
	s, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	if tools, missing := s.Select([]string{"*"}); tools != nil || missing != nil {
		t.Errorf("got %v, %v; want none, none", tools, missing)
	}
}

func TestNewSetRefusesTwins(t *testing.T) {
	if _, err := NewSet(named("a"), named("a")); err == nil {
		t.Error("two tools of one name were accepted")
	}
}

func TestClock(t *testing.T) {
	c := Clock{now: func() time.Time { return time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC) }}
	for _, x := range []struct {
		args, want string
		isError    bool
	}{
		{`{"timezone":"UTC"}`, "Sunday, 2026-03-01 23:30:00 +00:00 (UTC)", false},
		{`{"timezone":"Asia/Tokyo"}`, "Monday, 2026-03-02 08:30:00 +09:00 (JST)", false},
		{`{"timezone":"Mars/Base"}`, `There is no time zone "Mars/Base". Use an IANA name such as Europe/Lisbon, or UTC.`, true},
	} {
		got, err := c.Run(t.Context(), Call{Arguments: json.RawMessage(x.args)})
		if err != nil || got.Text != x.want || got.IsError != x.isError {
			t.Errorf("clock %s: got %q, %v, %v; want %q, %v", x.args, got.Text, got.IsError, err, x.want, x.isError)
		}
	}
	if !json.Valid(c.Spec().InputSchema) {
		t.Error("the input schema is not JSON")
	}
	if _, err := c.Run(t.Context(), Call{Arguments: json.RawMessage(`[1]`)}); err == nil {
		t.Error("an array as arguments was accepted")
	}
}
