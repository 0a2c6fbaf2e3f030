package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// Error classes of tasks beside those of package model.
const (
	ClassAborted       = "aborted"
	ClassInterrupted   = "interrupted"
	ClassIdle          = "idle"
	ClassMaxIterations = "max_iterations"
	ClassLoop          = "tool_loop"
	ClassStorage       = "storage"
	ClassInternal      = "internal"
)

// turnError is a failure with its class and its sentence for people.
type turnError struct {
	class string
	text  string
	err   error
}

func (e *turnError) Error() string { return e.text }
func (e *turnError) Unwrap() error { return e.err }

// serve takes a turn from the queue to its final state.
func (r *Runtime) serve(t *Turn) {
	defer r.wg.Done()
	w := &work{Runtime: r, turn: t}
	err := w.wait()
	if err == nil {
		err = w.guarded()
		r.slots.release()
	}
	r.finish(w, err)
}

// wait returns when the turn is first in its chat and has a slot.
func (w *work) wait() error {
	t := w.turn
	select {
	case <-t.ready:
		if w.slots.try() {
			return nil
		}
	default:
	}
	w.Store.PutTask(t.snapshot()) // queued
	select {
	case <-t.ready:
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	if w.slots.try() {
		return nil
	}
	w.say("waiting for a free slot: %d agents are working", w.Config().AgentsRuntime.MaxParallel)
	return w.slots.acquire(t.ctx)
}

// guarded runs the turn and turns a panic into its error.
func (w *work) guarded() (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("turn panicked", "task", w.turn.TaskID(), "panic", p, "stack", stack())
			err = &turnError{class: ClassInternal, text: "The agent failed because of an internal error; the log has the details.", err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return w.run()
}

// finish stores the final state, lets the next turn of the chat begin, and hands out the result. The next one begins
// only when this one is on disk: its history has to hold this answer.
func (r *Runtime) finish(w *work, err error) {
	t := w.turn
	if cause := context.Cause(t.ctx); cause != nil && err != nil {
		err = cause // whatever the cancelled parts reported, this is why
	}
	state, class := task.Done, ""
	if err != nil {
		state, class, err = r.classify(err)
		w.recordFailure(err, state)
	}
	now := session.At(r.now())
	final := t.update(func(k *task.Task) {
		k.State, k.QueuePosition = state, 0
		k.UpdatedAt, k.CompletedAt = later(now, k.UpdatedAt), later(now, k.CreatedAt)
		k.Result = w.answer(err == nil)
		k.IterationCount, k.ToolCount, k.Usage = w.iterations, w.tools, w.usage
		if err != nil {
			k.ErrorMessage, k.ErrorClass = err.Error(), class
		}
	})
	if serr := r.storeFinal(final); serr != nil && err == nil {
		state, err = task.Failed, serr
	}

	t.result = Result{Text: final.Result, Agent: final.Agent, Usage: w.usage, State: state, Err: err}
	r.leave(t)
	t.cancel(nil)
	close(t.done)
}

// storeFinal waits until the final state is on disk. It has its own time: the turn's context may have ended already.
func (r *Runtime) storeFinal(final task.Task) error {
	ctx, cancel := context.WithTimeout(context.Background(), finalWait)
	defer cancel()
	err := r.Store.PutTask(final).Wait(ctx)
	if err == nil {
		return nil
	}
	r.Log.Error("storing the answer failed", "task", final.ID, "err", err)
	return &turnError{class: ClassStorage, text: fmt.Sprintf("The answer is complete but could not be stored: %v. Free some disk space or check the data folder; the chat's history lacks this answer.", err), err: err}
}

// leave takes the turn out of its chat's queue and lets the next one begin.
func (r *Runtime) leave(t *Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, t.TaskID())
	queue := r.chats[t.req.Key]
	i := slices.Index(queue, t)
	queue = slices.Delete(queue, i, i+1)
	if len(queue) == 0 {
		delete(r.chats, t.req.Key)
		return
	}
	r.chats[t.req.Key] = queue
	if i == 0 {
		close(queue[0].ready)
	}
	for n, q := range queue {
		if n >= i {
			q.setPosition(n)
		}
	}
}

// classify tells state, class and sentence of a failure.
func (r *Runtime) classify(err error) (task.State, string, error) {
	var te *turnError
	var me *model.Error
	switch {
	case errors.Is(err, errAborted):
		return task.Stopped, ClassAborted, &turnError{class: ClassAborted, text: "The turn was aborted.", err: err}
	case errors.Is(err, errShutdown):
		return task.Interrupted, ClassInterrupted, &turnError{class: ClassInterrupted, text: "Interrupted: " + errShutdown.Error() + ".", err: err}
	case errors.Is(err, errIdle):
		return task.Failed, ClassIdle, &turnError{class: ClassIdle, text: fmt.Sprintf("The agent was silent for %s (no text, no tool use, no sign of life from the model), so the turn was ended. Please check the model's server and try again.", r.Idle), err: err}
	case errors.As(err, &te):
		return task.Failed, te.class, te
	case errors.As(err, &me):
		return task.Failed, string(me.Class), me
	}
	r.Log.Error("turn failed", "err", err)
	return task.Failed, ClassInternal, &turnError{class: ClassInternal, text: "The agent failed because of an internal error; the log has the details.", err: err}
}

// later keeps times from going back when the clock does.
func later(a, b session.Time) session.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

// say tells the reader and all watchers what the turn is doing.
func (w *work) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.turn.change(func() { w.turn.status = text })
	w.Events.Publish(event.TurnActivity{Session: w.turn.Key(), TaskID: w.turn.TaskID(), Activity: text})
}

// append stores messages of this turn, tagged with agent, task and time.
func (w *work) append(msgs ...session.Message) *store.Pending {
	now := session.At(w.now())
	for i := range msgs {
		msgs[i].Timestamp, msgs[i].TaskID = now, w.turn.TaskID()
		if msgs[i].Role != session.RoleUser {
			msgs[i].Agent = w.name
		}
	}
	return w.Store.Append(w.turn.Key(), w.name, msgs...)
}

var _ slog.LogValuer = (*Turn)(nil)

// LogValue names the turn in the log without what was said in it.
func (t *Turn) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", t.TaskID()), slog.String("session", t.Key().String()))
}

// Complete reports whether a failure came after the whole answer had been received: it could only not be stored.
func Complete(err error) bool {
	var te *turnError
	return errors.As(err, &te) && te.class == ClassStorage
}
