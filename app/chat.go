package app

import (
	"context"
	"errors"

	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// ChatRequest is a message for an agent.
type ChatRequest struct {
	Key     session.Key // zero: a new chat on Channel
	Channel string      // where the message comes from
	Agent   string      // "": the classifier chooses
	Message string
}

// Chat accepts a message. The turn that it starts goes on whatever becomes of the caller; errors are agent.ErrBusy,
// agent.ErrUnknownAgent, agent.ErrEmptyMessage and agent.ErrClosing.
func (a *App) Chat(req ChatRequest) (*agent.Turn, error) {
	if req.Key.IsZero() {
		req.Key = session.NewKey(req.Channel)
	}
	return a.agents.Start(agent.Request(req))
}

// Abort ends the running turn of a chat and drops what waits in it. It reports whether there was anything to end.
func (a *App) Abort(ctx context.Context, key session.Key) (bool, error) {
	return a.agents.Abort(ctx, key)
}

// Sessions lists chats, newest first.
func (a *App) Sessions(q store.SessionQuery) (store.SessionPage, error) { return a.store.Sessions(q) }

// SessionView is a chat with a part of its messages.
type SessionView struct {
	session.Info
	History []session.Message
}

// Session returns a chat and its last messages, oldest first. An unknown chat is store.ErrNotFound.
func (a *App) Session(key session.Key, q store.MessageQuery) (SessionView, error) {
	info, err := a.store.Session(key)
	if err != nil {
		return SessionView{}, err
	}
	msgs, err := a.store.Messages(key, q)
	return SessionView{Info: info, History: msgs}, err
}

// DeleteSession ends what runs in a chat and deletes it with its messages. It reports whether there was one.
func (a *App) DeleteSession(ctx context.Context, key session.Key) (bool, error) {
	if _, err := a.agents.Abort(ctx, key); err != nil {
		return false, err
	}
	return a.store.DeleteSession(ctx, key)
}

// RenameSession gives a chat another display name.
func (a *App) RenameSession(ctx context.Context, key session.Key, name string) error {
	shown := session.DisplayName(name)
	if shown == "" {
		return fail(CodeBadRequest, "give it at least one visible character", "the new name is empty")
	}
	return a.store.RenameSession(ctx, key, shown)
}

// Tasks lists tasks, newest first.
func (a *App) Tasks(q store.TaskQuery) (store.TaskPage, error) {
	page, err := a.store.Tasks(q)
	for i, t := range page.Tasks {
		page.Tasks[i] = a.live(t)
	}
	return page, err
}

// Task returns one task. An unknown one is store.ErrNotFound.
func (a *App) Task(id string) (task.Task, error) {
	t, err := a.store.Task(id)
	if errors.Is(err, store.ErrNotFound) {
		if t, ok := a.agents.Live(id); ok { // accepted a moment ago, not yet on disk
			return t, nil
		}
	}
	return a.live(t), err
}

// live adds what changes too often to be stored: the position in the queue.
func (a *App) live(t task.Task) task.Task {
	if t.State.Final() {
		return t
	}
	if now, ok := a.agents.Live(t.ID); ok {
		t.QueuePosition = now.QueuePosition
	}
	return t
}

// AbortTask ends one turn, running or waiting. It reports whether it was still alive.
func (a *App) AbortTask(ctx context.Context, id string) (bool, error) {
	alive, err := a.agents.AbortTask(ctx, id)
	if err != nil || alive {
		return alive, err
	}
	_, err = a.store.Task(id)
	return false, err
}
