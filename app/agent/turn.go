package agent

import (
	"context"
	"io"
	"strings"
	"sync"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// Update is what is new in a turn since the last call of Next. Fields that did not change are empty.
type Update struct {
	Text          string // the next piece of the answer
	Status        string // what the agent is doing, for people: "step 3, tool search"
	QueuePosition int    // 1: next in line; 0: it runs, or no change
}

// Result is how a turn ended.
type Result struct {
	// Text is the agent's answer; after a failure, all that had been received.
	Text  string
	Agent string
	Usage session.Usage
	State task.State
	// Err is nil when State is task.Done. Its text is a sentence for people.
	Err error
}

// Turn is one message and its answer, from acceptance to the final state. All methods are safe for concurrent use;
// Next is meant for one reader.
type Turn struct {
	req    Request
	ctx    context.Context
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one token while there is something for Next
	ready  chan struct{} // closed when the turn is first in its chat
	done   chan struct{} // closed when result is set

	mu     sync.Mutex
	task   task.Task
	text   strings.Builder // not yet fetched by Next
	status string
	pos    int
	result Result
}

// Key names the chat.
func (t *Turn) Key() session.Key { return t.req.Key }

// TaskID names the task that records this turn.
func (t *Turn) TaskID() string { return t.task.ID } // never changes, so no lock

// Agent returns the agent's name, "" until the classifier has chosen.
func (t *Turn) Agent() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.task.Agent
}

// Next waits for something new. After the last update it returns io.EOF, and when ctx ends first, ctx's cause.
// Text that nobody fetches is joined, so a slow reader loses nothing and holds up nobody.
func (t *Turn) Next(ctx context.Context) (Update, error) {
	for {
		select {
		case <-t.wake:
		default:
			select {
			case <-t.wake:
			case <-t.done:
				if u := t.take(); u != (Update{}) {
					return u, nil
				}
				return Update{}, io.EOF
			case <-ctx.Done():
				return Update{}, context.Cause(ctx)
			}
		}
		if u := t.take(); u != (Update{}) {
			return u, nil
		}
	}
}

// Result waits for the end of the turn. The error is ctx's cause and says nothing about the turn, which goes on.
func (t *Turn) Result(ctx context.Context) (Result, error) {
	select {
	case <-t.done:
		return t.result, nil
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// Done is closed when the turn has ended.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Abort asks the turn to end, running or waiting. It does not wait for it.
func (t *Turn) Abort() { t.cancel(errAborted) }

func (t *Turn) take() Update {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := Update{Text: t.text.String(), Status: t.status, QueuePosition: t.pos}
	t.text.Reset()
	t.status, t.pos = "", 0
	return u
}

// change alters the turn under its lock and wakes the reader.
func (t *Turn) change(f func()) {
	t.mu.Lock()
	f()
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *Turn) setPosition(n int) {
	t.change(func() { t.pos, t.task.QueuePosition = n, n })
}

// snapshot returns the task as it is now.
func (t *Turn) snapshot() task.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.task
}

// update alters the task and returns it.
func (t *Turn) update(f func(*task.Task)) task.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.task)
	return t.task
}
