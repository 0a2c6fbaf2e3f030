// Package task holds what a task is: the record of one turn of an agent, from the moment it was
// accepted to its final state. Exactly one final state is ever written; nothing is run again by itself.
package task

import "ionclaw-tray/app/session"

// State is where a task stands: queued → running → one of the final states.
type State string

// The states of a task.
const (
	Queued      State = "queued"
	Running     State = "running"
	Done        State = "done"
	Failed      State = "error"
	Stopped     State = "stopped"     // aborted by someone
	Interrupted State = "interrupted" // the program ended while it was queued or running
)

// States lists all states in the order of a task's life.
var States = []State{Queued, Running, Done, Failed, Stopped, Interrupted}

// Valid reports whether s is a known state.
func (s State) Valid() bool {
	for _, k := range States {
		if s == k {
			return true
		}
	}
	return false
}

// Final reports whether a task in this state will not change any more.
func (s State) Final() bool { return s != Queued && s != Running }

// Task is the record of one turn. Times are UTC; a zero time is left out of the JSON form.
type Task struct {
	ID             string        `json:"id"` // UUID
	Title          string        `json:"title"`
	Description    string        `json:"description,omitempty"` // the user's message, at most MaxDescription bytes
	State          State         `json:"state"`
	Channel        string        `json:"channel"`
	SessionID      session.Key   `json:"session_id"`
	Agent          string        `json:"agent,omitempty"`
	CreatedAt      session.Time  `json:"created_at"`
	StartedAt      session.Time  `json:"started_at,omitzero"`
	UpdatedAt      session.Time  `json:"updated_at"`
	CompletedAt    session.Time  `json:"completed_at,omitzero"`
	Result         string        `json:"result,omitempty"`
	ErrorMessage   string        `json:"error_message,omitempty"`
	ErrorClass     string        `json:"error_class,omitempty"`
	IterationCount int           `json:"iteration_count"`
	ToolCount      int           `json:"tool_count"`
	Usage          session.Usage `json:"usage"`
	QueuePosition  int           `json:"queue_position,omitempty"` // 1 = next; only while queued
}

// MaxDescription bounds the copy of the user's message kept in a task, in bytes.
const MaxDescription = 4096
