package task

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"ionclaw-tray/app/session"
)

func TestStates(t *testing.T) {
	tests := []struct {
		state        State
		wire         string
		valid, final bool
	}{
		{Queued, "queued", true, false},
		{Running, "running", true, false},
		{Done, "done", true, true},
		{Failed, "error", true, true},
		{Stopped, "stopped", true, true},
		{Interrupted, "interrupted", true, true},
		{"", "", false, true},
		{"DONE", "DONE", false, true},
	}
	valid := 0
	for _, tt := range tests {
		if string(tt.state) != tt.wire || tt.state.Valid() != tt.valid || tt.state.Final() != tt.final {
			t.Errorf("%q: got valid %v, final %v; want %q, %v, %v", tt.state, tt.state.Valid(), tt.state.Final(), tt.wire, tt.valid, tt.final)
		}
		if tt.valid {
			valid++
		}
	}
	if len(States) != valid {
		t.Errorf("States: got %d, want %d", len(States), valid)
	}
}

func TestTaskJSON(t *testing.T) {
	at := session.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	key := session.Key{Channel: session.ChannelMCP, ID: "f4ec566c-8d6b-4e0c-9a53-0d6f3f0a7b21"}
	queued := Task{ID: "t", Title: "Hi", State: Queued, Channel: "mcp", SessionID: key, CreatedAt: at, UpdatedAt: at, QueuePosition: 2}
	b, err := json.Marshal(queued)
	want := `{"id":"t","title":"Hi","state":"queued","channel":"mcp","session_id":"mcp:f4ec566c-8d6b-4e0c-9a53-0d6f3f0a7b21",` +
		`"created_at":"2026-01-02T03:04:05.000Z","updated_at":"2026-01-02T03:04:05.000Z","iteration_count":0,"tool_count":0,` +
		`"usage":{"input":0,"output":0,"cache_read":0,"cache_write":0},"queue_position":2}`
	if err != nil || string(b) != want {
		t.Errorf("a queued task leaves unset fields out: got %s, %v; want %s", b, err, want)
	}
	full := queued
	full.State, full.QueuePosition, full.StartedAt, full.CompletedAt = Failed, 0, at, at
	full.Description, full.Agent, full.Result, full.ErrorMessage, full.ErrorClass = "Hi there", "main", "par", "no", "timeout"
	full.IterationCount, full.ToolCount, full.Usage = 3, 2, session.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	b, err = json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var back Task
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, full) {
		t.Errorf("read back: got %+v, %v; want %+v", back, err, full)
	}
}
