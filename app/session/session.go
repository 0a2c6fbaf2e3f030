// Package session holds what a chat is: its key, its display name, its messages.
//
// A chat has one history, whichever agents answered in it; each answer is tagged with its agent.
// The package is types and pure rules. Storage is in package store; the order of messages is their
// sequence number there, never the clock.
package session

import "encoding/json"

// Info is one row of the list of chats.
type Info struct {
	Key         Key    `json:"key"`
	Channel     string `json:"channel"`
	DisplayName string `json:"display_name"`
	Agent       string `json:"agent,omitempty"` // the agent that answered last
	CreatedAt   Time   `json:"created_at"`
	UpdatedAt   Time   `json:"updated_at"` // never before CreatedAt, also when the clock steps back
	Messages    int    `json:"messages"`   // number of stored messages
	Usage       Usage  `json:"usage"`      // total of the chat
}

// Role tells who wrote a message.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system"
)

// Message is one entry of a chat's history.
type Message struct {
	Seq        uint64     `json:"seq"` // 1-based position in the chat; set by the store
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	Timestamp  Time       `json:"timestamp"`
	Agent      string     `json:"agent,omitempty"`
	TaskID     string     `json:"task_id,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // role assistant
	ToolCallID string     `json:"tool_call_id,omitempty"` // role tool: the call that this answers
	ToolError  bool       `json:"tool_error,omitempty"`   // role tool: the call failed
	Usage      *Usage     `json:"usage,omitempty"`
	Error      string     `json:"error,omitempty"` // the sentence for people, when the turn failed
	Aborted    bool       `json:"aborted,omitempty"`
}

// ToolCall is a model's wish to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// Usage counts tokens as the provider reported them.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}
