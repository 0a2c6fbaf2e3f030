package model

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/tool"
)

func offline(t *testing.T, req Request) (Response, []string) {
	t.Helper()
	var chunks []string
	r, err := Offline{}.Stream(t.Context(), req, func(c Chunk) { chunks = append(chunks, c.Text) })
	if err != nil {
		t.Fatal(err)
	}
	return r, chunks
}

func says(text string) []Message { return []Message{{Role: session.RoleUser, Text: text}} }

func TestOfflineSaysWhatItIs(t *testing.T) {
	r, chunks := offline(t, Request{Model: "offline", Messages: says("What is the capital of France?")})
	for _, want := range []string{"not a language model", "providers:", "agents:", "model: ollama/llama3.2", "/help"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("got %q, want %q in it", r.Text, want)
		}
	}
	if len(chunks) < 50 || strings.Join(chunks, "") != r.Text {
		t.Errorf("got %d chunks, want one for each word and together the text", len(chunks))
	}
	for _, c := range chunks {
		if len(strings.Fields(c)) != 1 {
			t.Errorf("got chunk %q, want one word", c)
		}
	}
	if r.Usage != (session.Usage{}) || r.ToolCalls != nil {
		t.Errorf("got usage %+v and calls %v, want none", r.Usage, r.ToolCalls)
	}
	if again, _ := offline(t, Request{Messages: says("Anything else")}); again.Text != r.Text {
		t.Error("two messages got different answers")
	}
	if empty, _ := offline(t, Request{}); empty.Text != r.Text {
		t.Error("a request without messages got another answer")
	}
}

func TestOfflineCommands(t *testing.T) {
	tools := []tool.Spec{{Name: "clock", Description: "Tells\nthe time."}, {Name: "search", Description: "Finds."}}
	for _, c := range []struct {
		text  string
		says  string // "" when a call is expected
		call  string
		tools []tool.Spec
	}{
		{"/help", "/call NAME {json}", "", tools},
		{"  /help \n", "/tools", "", tools},
		{"/tools", "- clock: Tells the time.\n- search: Finds.", "", tools},
		{"/tools", "agents.NAME.tools", "", nil},
		{"/call clock", "", "clock {}", tools},
		{"/call  clock  ", "", "clock {}", tools},
		{`/call search {"q": "a b"}`, "", `search {"q": "a b"}`, tools},
		{`/call search{"q":1}`, "", `search {"q":1}`, tools},
		{"/call search\n{\"q\":1}", "", `search {"q":1}`, tools},
		{"/call", "Name the tool", "", tools},
		{"/call fly {}", "no tool 'fly'", "", tools},
		{"/call clock {", "not a JSON object", "", tools},
		{"/call clock [1]", "not a JSON object", "", tools},
		{"/callclock", "not a language model", "", tools},
		{"tell me about /call", "not a language model", "", tools},
	} {
		r, _ := offline(t, Request{Messages: says(c.text), Tools: c.tools})
		var call string
		if len(r.ToolCalls) == 1 {
			call = r.ToolCalls[0].Name + " " + string(r.ToolCalls[0].Arguments)
			if r.ToolCalls[0].ID == "" {
				t.Errorf("%q: the call has no id", c.text)
			}
		}
		if !strings.Contains(r.Text, c.says) || (c.says == "") != (r.Text == "") || call != c.call {
			t.Errorf("%q: got %q and call %q; want %q and %q", c.text, r.Text, call, c.says, c.call)
		}
	}
}

func TestOfflineShowsResults(t *testing.T) {
	history := []Message{
		{Role: session.RoleUser, Text: "/call clock"},
		{Role: session.RoleAssistant, ToolCalls: []session.ToolCall{{ID: "offline_1", Name: "clock"}}},
		{Role: session.RoleTool, ToolName: "clock", Text: "noon"},
		{Role: session.RoleTool, ToolName: "search", Text: "boom", ToolError: true},
		{Role: session.RoleTool, ToolName: "quiet"},
	}
	r, _ := offline(t, Request{Messages: history})
	if want := "Result of clock:\n\nnoon\n\nError of search:\n\nboom\n\nResult of quiet:\n\n(empty)"; r.Text != want || r.ToolCalls != nil {
		t.Errorf("got %q, %v; want %q", r.Text, r.ToolCalls, want)
	}
}

func TestOfflineStops(t *testing.T) {
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	r, err := Offline{}.Stream(ctx, Request{Messages: says("hi")}, func(Chunk) {
		if n++; n == 3 {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || n != 3 || r.Text != "This is the " {
		t.Errorf("got %q, %v after %d words; want the cause after 3", r.Text, err, n)
	}
}

func TestWordByWord(t *testing.T) {
	for text, want := range map[string][]string{
		"":              nil,
		"a":             {"a"},
		"a b\n\n c ":    {"a ", "b\n\n ", "c "},
		"  a":           {"  ", "a"},
		"größe\u00a0世界": {"größe\u00a0", "世界"},
		"\xff a":        {"\xff ", "a"},
	} {
		if got := wordByWord(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

var routeAgents = []RouteAgent{
	{"writer", "Writes and corrects texts,\n  letters and translations"},
	{"main", "General-purpose assistant"},
	{"coder", "Programs in Go and Python, fixes bugs: the code expert"},
	{"cook_2", "料理 recipes and menus"},
}

func TestOfflineRoutes(t *testing.T) {
	for _, c := range []struct{ current, text, want string }{
		{"", "Please fix this bug in my python code", "coder"},
		{"", "translate this letter", "writer"},
		{"", "料理を教えて", "cook_2"},
		{"", "recipe for soup", "cook_2"},
		{"", "hello", "main"},
		{"", "", "main"},
		{"writer", "hello", "writer"},
		{"writer", "Fix the bugs in this Go program", "coder"},
		{"coder", "translate it", "writer"},
		{"coder", "a letter about bugs", "coder"}, // one word each: the topic has not clearly changed
		{"gone", "hello", "main"},
		{"", "cook", "cook_2"},
		{"", "user: fix the bugs in my Go code\n\nassistant: Python is code too.\n\nNew message: translate this letter", "writer"},
	} {
		r, _ := offline(t, Request{Messages: says(c.text), Tools: []tool.Spec{RouteTool(routeAgents, c.current)}, ForceTool: RouteToolName})
		if got, err := ParseRoute(r); err != nil || got != c.want {
			t.Errorf("%q with %q: got %q, %v; want %q", c.text, c.current, got, err, c.want)
		}
	}
	// Without an agent called main the first by name is the default.
	r, _ := offline(t, Request{Messages: says("hello"), Tools: []tool.Spec{RouteTool([]RouteAgent{{"z", "x"}, {"b", "y"}}, "")}, ForceTool: RouteToolName})
	if got, err := ParseRoute(r); err != nil || got != "b" {
		t.Errorf("got %q, %v; want b", got, err)
	}
	for _, forced := range []string{RouteToolName, "clock"} {
		r, _ := offline(t, Request{Messages: says("hi"), Tools: []tool.Spec{{Name: "clock"}}, ForceTool: forced})
		if _, err := ParseRoute(r); err == nil {
			t.Errorf("%s: got %+v, want no choice", forced, r)
		}
	}
}

func TestRouteTool(t *testing.T) {
	spec := RouteTool(routeAgents, "coder")
	agents, current := routeChoices(spec)
	if len(agents) != 4 || current != "coder" || agents[0] != (RouteAgent{"writer", "Writes and corrects texts, letters and translations"}) || agents[2].Name != "coder" {
		t.Errorf("got %+v, %q; want what was put in", agents, current)
	}
	if got := string(spec.InputSchema); !json.Valid(spec.InputSchema) || !strings.Contains(got, `"enum":["writer","main","coder","cook_2"]`) {
		t.Errorf("got schema %s", got)
	}
}

func TestParseRoute(t *testing.T) {
	call := func(name, args string) Response {
		return Response{ToolCalls: []session.ToolCall{{Name: name, Arguments: []byte(args)}}}
	}
	for _, c := range []struct {
		in   Response
		want string
	}{
		{call("route", `{"agent":" coder "}`), "coder"},
		{call("route", `{"agent":""}`), ""},
		{call("route", `{"agent":7}`), ""},
		{call("route", `{"_raw_arguments":"coder"}`), ""},
		{call("other", `{"agent":"coder"}`), ""},
		{Response{Text: "coder"}, "coder"},
		{Response{Text: " **`coder`**.\n"}, "coder"},
		{Response{Text: `{"agent":"coder"}`}, "coder"},
		{Response{Text: `{"name":"route","arguments":{"agent":"coder"}}`}, "coder"},
		{Response{Text: `{"agent":`}, ""},
		{Response{Text: "I would choose coder"}, ""},
		{Response{}, ""},
	} {
		got, err := ParseRoute(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: got %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}
