package command

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
	"ionclaw-tray/cmd/ionclaw/client"
)

// history is where chats and tasks are read.
type history interface {
	Sessions(ctx context.Context, q store.SessionQuery) (client.SessionList, error)
	Session(ctx context.Context, key session.Key, q store.MessageQuery) (client.Session, error)
	Tasks(ctx context.Context, q store.TaskQuery) (client.TaskList, error)
	Task(ctx context.Context, id string) (task.Task, error)
}

var (
	_ history = (*client.Client)(nil)
	_ history = (*storedHistory)(nil)
)

// history is the running program's, else what is on disk. done closes it.
func (c *cli) history(ctx context.Context) (h history, done func(), err error) {
	running, err := c.running(ctx)
	if err == nil {
		return running, func() {}, nil
	}
	if !notRunning(err) {
		return nil, nil, err
	}
	database := c.paths().Database()
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return &storedHistory{}, func() {}, nil // never started: nothing to read, and nothing is made
	}
	s, err := store.OpenReadOnly(database)
	if err != nil {
		return nil, nil, err
	}
	return &storedHistory{s}, func() { _ = s.Close() }, nil // read-only: nothing can be lost
}

func notRunning(err error) bool {
	var e *app.Error
	return errors.As(err, &e) && e.Code == app.CodeNotRunning
}

// storedHistory reads the database of a program that does not run. A nil store is an empty one.
type storedHistory struct{ store *store.Store }

func (h *storedHistory) Sessions(_ context.Context, q store.SessionQuery) (client.SessionList, error) {
	if h.store == nil {
		return client.SessionList{Sessions: []session.Info{}}, nil
	}
	page, err := h.store.Sessions(q)
	return client.SessionList{Sessions: append([]session.Info{}, page.Sessions...), Next: page.Next}, err
}

func (h *storedHistory) Session(_ context.Context, key session.Key, q store.MessageQuery) (client.Session, error) {
	if h.store == nil {
		return client.Session{}, noSession(key)
	}
	info, err := h.store.Session(key)
	if errors.Is(err, store.ErrNotFound) {
		return client.Session{}, noSession(key)
	}
	if err != nil {
		return client.Session{}, err
	}
	msgs, err := h.store.Messages(key, q)
	return client.Session{Info: info, Messages: append([]session.Message{}, msgs...)}, err
}

func (h *storedHistory) Tasks(_ context.Context, q store.TaskQuery) (client.TaskList, error) {
	if h.store == nil {
		return client.TaskList{Tasks: []task.Task{}}, nil
	}
	page, err := h.store.Tasks(q)
	return client.TaskList{Tasks: append([]task.Task{}, page.Tasks...), Next: page.Next}, err
}

func (h *storedHistory) Task(_ context.Context, id string) (task.Task, error) {
	if h.store == nil {
		return task.Task{}, noTask(id)
	}
	t, err := h.store.Task(id)
	if errors.Is(err, store.ErrNotFound) {
		return task.Task{}, noTask(id)
	}
	return t, err
}

func noSession(key session.Key) error {
	return &app.Error{Code: app.CodeNotFound, Message: "there is no chat " + key.String(), Hint: `see "ionclaw sessions list"`}
}

func noTask(id string) error {
	return &app.Error{Code: app.CodeNotFound, Message: "there is no task " + id, Hint: `see "ionclaw tasks list"`}
}
