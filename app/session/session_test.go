package session

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestTimeJSON(t *testing.T) {
	zone := time.FixedZone("east", 2*3600)
	at := At(time.Date(2026, 3, 29, 3, 0, 0, 123_999_999, zone))
	b, err := json.Marshal(at)
	if want := `"2026-03-29T01:00:00.123Z"`; err != nil || string(b) != want {
		t.Fatalf("marshalling: got %s, %v; want %s", b, err, want)
	}
	if got, want := at.String(), "2026-03-29T01:00:00.123Z"; got != want {
		t.Errorf("String: got %q, want %q", got, want)
	}
	var back Time
	if err := json.Unmarshal(b, &back); err != nil || back != at {
		t.Errorf("read back: got %v, %v; want %v", back, err, at)
	}
	var row struct {
		T Time `json:"t,omitzero"`
	}
	if b, err := json.Marshal(row); err != nil || string(b) != "{}" {
		t.Errorf("unset time with omitzero: got %s, %v; want {}", b, err)
	}
	if err := json.Unmarshal([]byte(`"yesterday"`), &back); err == nil {
		t.Error("reading \"yesterday\": got no error")
	}
}

func TestUsageAdd(t *testing.T) {
	got := Usage{1, 2, 3, 4}.Add(Usage{10, 20, 30, 40})
	if want := (Usage{11, 22, 33, 44}); got != want {
		t.Errorf("sum: got %+v, want %+v", got, want)
	}
}

func TestMessageJSON(t *testing.T) {
	at := At(time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC))
	tests := []struct {
		name string
		msg  Message
		want string
	}{
		{"plain", Message{Seq: 1, Role: RoleUser, Content: "hi", Timestamp: at},
			`{"seq":1,"role":"user","content":"hi","timestamp":"2026-01-02T03:04:05.006Z"}`},
		{"tool call", Message{Seq: 2, Role: RoleAssistant, Timestamp: at, Agent: "main", TaskID: "t",
			ToolCalls: []ToolCall{{ID: "c", Name: "clock", Arguments: json.RawMessage(`{"a":1}`)}}, Usage: &Usage{Input: 1}},
			`{"seq":2,"role":"assistant","content":"","timestamp":"2026-01-02T03:04:05.006Z","agent":"main","task_id":"t","tool_calls":[{"id":"c","name":"clock","arguments":{"a":1}}],"usage":{"input":1,"output":0,"cache_read":0,"cache_write":0}}`},
		{"failure", Message{Seq: 3, Role: RoleAssistant, Content: "x", Timestamp: at, Error: "no", Aborted: true},
			`{"seq":3,"role":"assistant","content":"x","timestamp":"2026-01-02T03:04:05.006Z","error":"no","aborted":true}`},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.msg)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.name, b, err, tt.want)
		}
		var back Message
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, tt.msg) {
			t.Errorf("%s read back: got %+v, %v; want %+v", tt.name, back, err, tt.msg)
		}
	}
}
