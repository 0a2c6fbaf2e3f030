package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "{}"},
		{"  \n", "{}"},
		{"null", "{}"},
		{`""`, "{}"},
		{"{}", "{}"},
		{` {"a":1} `, `{"a":1}`},
		{`"{\"a\":1}"`, `{"a":1}`},
		{`{"a":`, `{"_raw_arguments":"{\"a\":"}`},
		{`{}{"a":1}`, `{"_raw_arguments":"{}{\"a\":1}"}`},
		{`[1]`, `{"_raw_arguments":"[1]"}`},
		{`7`, `{"_raw_arguments":"7"}`},
		{`"text"`, `{"_raw_arguments":"\"text\""}`},
		{"{\"a\":\"line\nbreak\"}", `{"_raw_arguments":"{\"a\":\"line\nbreak\"}"}`},
		{"\xff", `{"_raw_arguments":"\ufffd"}`},
	} {
		got := arguments(c.in)
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Errorf("%q: got %s, which is not JSON: %v", c.in, got, err)
			continue
		}
		if json.Unmarshal([]byte(strings.ReplaceAll(c.want, "\n", `\n`)), &b) != nil || string(mustJSON(t, a)) != string(mustJSON(t, b)) {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
		if again := arguments(string(got)); string(again) != string(got) {
			t.Errorf("%q: got %s the second time, want %s", c.in, again, got)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		in, raw string
		bad     bool
	}{
		{`{}`, "", false},
		{`{"a":1}`, "", false},
		{`{"_raw_arguments":"x","a":1}`, "", false},
		{`{"_raw_arguments":1}`, "", false},
		{`{"_raw_arguments":"{\"a"}`, `{"a`, true},
		{`not JSON`, `not JSON`, true},
	} {
		if raw, bad := BadArguments(session.ToolCall{Arguments: []byte(c.in)}); raw != c.raw || bad != c.bad {
			t.Errorf("%s: got %q, %v; want %q, %v", c.in, raw, bad, c.raw, c.bad)
		}
	}
}

func TestAnswerLimit(t *testing.T) {
	var a openAIAnswer
	half := strings.Repeat("x", maxAnswer/2)
	for range 2 {
		if err := a.write(half); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.write("x"); !errors.Is(err, errTooLong) {
		t.Errorf("text over the limit: got %v, want %v", err, errTooLong)
	}
	if err := a.grow(1); !errors.Is(err, errTooLong) {
		t.Errorf("arguments over the limit: got %v, want %v", err, errTooLong)
	}
	if class, detail := classify(errTooLong); class != Unknown || !strings.Contains(detail, "32 MiB") {
		t.Errorf("got %s, %q; want unknown and the limit named", class, detail)
	}
}

// Chunks as real servers send them, that differ from the documentation.
func TestOddOpenAIChunks(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		text   string
		calls  string
		usage  session.Usage
		end    progress
	}{
		{"no choices", []string{`{"choices":[]}`, `{"choices":null}`, `{}`}, "", "", session.Usage{}, going},
		{"null content", []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}`}, "", "", session.Usage{}, going},
		{"null delta", []string{`{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}`}, "", "", session.Usage{}, complete},
		{"no index", []string{`{"choices":[{"delta":{"content":"a"}}]}`}, "a", "", session.Usage{}, going},
		{"another choice", []string{`{"choices":[{"index":1,"delta":{"content":"a"}}]}`}, "", "", session.Usage{}, going},
		{"null error", []string{`{"error":null,"choices":[{"delta":{"content":"a"}}]}`}, "a", "", session.Usage{}, going},
		{"blocks", []string{`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"}]}}]}`}, "a", "", session.Usage{}, going},
		{"refusal", []string{`{"choices":[{"delta":{"refusal":"I won't."}}]}`}, "I won't.", "", session.Usage{}, going},
		{"growing usage", []string{`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}`, `{"choices":[],"usage":null}`}, "", "", session.Usage{Input: 5, Output: 5, CacheRead: 4}, going},
		{"calls without index", []string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}},{"id":"b","function":{"name":"y","arguments":"{}"}}]}}]}`}, "", "a x {} b y {}", session.Usage{}, going},
		{"id repeated", []string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}]}}]}`}, "", `a x {"a":1}`, session.Usage{}, going},
		{"object as arguments", []string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":{"a":1}}}]}}]}`}, "", `a x {"a":1}`, session.Usage{}, going},
		{"no name", []string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}}]}`}, "", "", session.Usage{}, going},
		{"gaps and strange indices", []string{`{"choices":[{"delta":{"tool_calls":[{"index":1000000000,"id":"a","function":{"name":"x"}},{"index":-1,"id":"b","function":{"name":"y"}}]}}]}`}, "", "a x {} b y {}", session.Usage{}, going},
		{"done", []string{`[DONE]`}, "", "", session.Usage{}, ended},
	} {
		var a openAIAnswer
		var end progress
		for _, chunk := range c.chunks {
			var err error
			if end, err = a.handle(event{data: []byte(chunk)}); err != nil {
				t.Errorf("%s: %s: %v", c.name, chunk, err)
			}
		}
		r := a.response()
		var calls []string
		for _, x := range r.ToolCalls {
			calls = append(calls, x.ID, x.Name, string(x.Arguments))
		}
		if got := strings.Join(calls, " "); r.Text != c.text || got != c.calls || r.Usage != c.usage || end != c.end {
			t.Errorf("%s: got text %q, calls %q, usage %+v, progress %d; want %q, %q, %+v, %d", c.name, r.Text, got, r.Usage, end, c.text, c.calls, c.usage, c.end)
		}
	}
}

func TestOddAnthropicEvents(t *testing.T) {
	a := anthropicAnswer{blocks: map[int64]*call{}}
	for _, e := range []string{
		`{"type":"ping"}`,
		`{"type":"something_new","data":[1]}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"x","input":{"whole":1}}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"y","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}`,
	} {
		if _, err := a.handle(event{data: []byte(e)}); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	r := a.response()
	if r.Text != "Hello" || len(r.ToolCalls) != 2 || string(r.ToolCalls[0].Arguments) != `{"whole":1}` || string(r.ToolCalls[1].Arguments) != `{"n":1}` {
		t.Errorf("got %+v", r)
	}
}
