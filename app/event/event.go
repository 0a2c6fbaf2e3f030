// Package event carries what happens in the core to everyone who watches: the desktop, the local API, MCP resource
// subscriptions. One direction only: the core publishes, faces subscribe; nobody commands through it.
//
// Two promises. Text deltas and activity are lossy: a subscriber that is not ready misses them, and its drop counter
// says how many. Every other event waits for a slow subscriber, but at most for a bounded time; then it is dropped
// and counted too. A subscriber that sees its counter grow reads the state again.
package event

import (
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// Event is something that happened. The concrete types of this file are all there are.
type Event interface {
	// Type is the name on the wire, for example "task.changed".
	Type() string
	// Lossy reports whether a subscriber that is not ready misses the event at once.
	Lossy() bool
}

// TurnDelta is a piece of an answer as it is written.
type TurnDelta struct {
	Session session.Key `json:"session"`
	TaskID  string      `json:"task_id"`
	Agent   string      `json:"agent"`
	Text    string      `json:"text"`
}

// TurnActivity says what a silent turn is doing, for example "step 3, tool search".
type TurnActivity struct {
	Session  session.Key `json:"session"`
	TaskID   string      `json:"task_id"`
	Activity string      `json:"activity"`
}

// MessageAdded is a message that is now part of a chat's history.
type MessageAdded struct {
	Session session.Key     `json:"session"`
	Message session.Message `json:"message"`
}

// SessionChanged is a new or altered row of the list of chats.
type SessionChanged struct {
	Session session.Info `json:"session"`
}

// SessionDeleted is a chat that is gone.
type SessionDeleted struct {
	Session session.Key `json:"session"`
}

// TaskChanged is a task with its new state.
type TaskChanged struct {
	Task task.Task `json:"task"`
}

// ConfigChanged says that another configuration is in force: agents, providers, channels.
type ConfigChanged struct{}

// ConfigRejected says that the file was changed into something invalid; the old configuration stays.
type ConfigRejected struct {
	Error string `json:"error"`
}

// ChannelChanged says that a channel started or stopped, or that its settings changed.
type ChannelChanged struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
	Error   string `json:"error,omitempty"`
}

// ClientsChanged says that the list of connected MCP clients changed.
type ClientsChanged struct{}

// Type implements Event.
func (TurnDelta) Type() string { return "turn.delta" }

// Lossy implements Event.
func (TurnDelta) Lossy() bool { return true }

// Type implements Event.
func (TurnActivity) Type() string { return "turn.activity" }

// Lossy implements Event.
func (TurnActivity) Lossy() bool { return true }

// Type implements Event.
func (MessageAdded) Type() string { return "message.added" }

// Lossy implements Event.
func (MessageAdded) Lossy() bool { return false }

// Type implements Event.
func (SessionChanged) Type() string { return "session.changed" }

// Lossy implements Event.
func (SessionChanged) Lossy() bool { return false }

// Type implements Event.
func (SessionDeleted) Type() string { return "session.deleted" }

// Lossy implements Event.
func (SessionDeleted) Lossy() bool { return false }

// Type implements Event.
func (TaskChanged) Type() string { return "task.changed" }

// Lossy implements Event.
func (TaskChanged) Lossy() bool { return false }

// Type implements Event.
func (ConfigChanged) Type() string { return "config.changed" }

// Lossy implements Event.
func (ConfigChanged) Lossy() bool { return false }

// Type implements Event.
func (ConfigRejected) Type() string { return "config.rejected" }

// Lossy implements Event.
func (ConfigRejected) Lossy() bool { return false }

// Type implements Event.
func (ChannelChanged) Type() string { return "channel.changed" }

// Lossy implements Event.
func (ChannelChanged) Lossy() bool { return false }

// Type implements Event.
func (ClientsChanged) Type() string { return "clients.changed" }

// Lossy implements Event.
func (ClientsChanged) Lossy() bool { return false }
