package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

const (
	// MaxTasks is how many tasks are kept. Beyond it the oldest ones in a final state are removed; a task that is
	// queued or running never is.
	MaxTasks = 10_000
	// maxTaskID bounds the id of a task, in bytes.
	maxTaskID = 128
)

// PutTask stores a task: a new one, or the next state of one. A task has exactly one final state: another record over
// it is refused with ErrFinal, the same one again does nothing. A new task is the newest of the list; its place does
// not change later. Its times never go back: UpdatedAt is at least CreatedAt and at least what was stored before.
func (s *Store) PutTask(t task.Task) *Pending {
	if err := checkTask(t); err != nil {
		return failed(err)
	}
	t.CreatedAt, t.StartedAt = trim(t.CreatedAt), trim(t.StartedAt)
	t.UpdatedAt, t.CompletedAt = trim(t.UpdatedAt), trim(t.CompletedAt)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = session.At(s.opt.now())
	}
	t.UpdatedAt = latest(t.UpdatedAt, t.CreatedAt)
	if t.State != task.Queued {
		t.QueuePosition = 0
	}
	size := len(t.Description) + len(t.Result) + len(t.ErrorMessage) + len(t.Title)
	return s.enqueue(s.life, 2*size, func(c *change) error { return c.putTask(t) })
}

func checkTask(t task.Task) error {
	switch {
	case t.ID == "" || len(t.ID) > maxTaskID || strings.ContainsRune(t.ID, 0):
		return fmt.Errorf("storing a task: %w: its id must have 1 to %d bytes", ErrInvalid, maxTaskID)
	case !t.State.Valid():
		return fmt.Errorf("storing task %s: %w: unknown state %q", t.ID, ErrInvalid, t.State)
	}
	if err := checkNames(t.SessionID, ""); err != nil {
		return fmt.Errorf("storing task %s: %w", t.ID, err)
	}
	return nil
}

func trim(t session.Time) session.Time {
	if t.IsZero() {
		return session.Time{}
	}
	return session.At(t.Time)
}

func latest(a, b session.Time) session.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

func (c *change) putTask(t task.Task) error {
	old, n, err := c.oldTask(t.ID)
	if err != nil {
		return err
	}
	if old != nil {
		if old.SessionID != t.SessionID {
			return fmt.Errorf("storing task %s: %w: it belongs to chat %s", t.ID, ErrInvalid, old.SessionID)
		}
		t.CreatedAt = old.CreatedAt
		t.UpdatedAt = latest(t.UpdatedAt, old.UpdatedAt)
	}
	if !t.CompletedAt.IsZero() {
		t.CompletedAt = latest(t.CompletedAt, t.CreatedAt)
	}
	value, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("storing task %s: %w: %w", t.ID, ErrInvalid, err)
	}
	if old != nil && old.State.Final() {
		if bytes.Equal(value, c.get(bucketTasks, []byte(t.ID))) {
			return nil
		}
		return fmt.Errorf("storing task %s as %q: %w (%s)", t.ID, t.State, ErrFinal, old.State)
	}
	if old == nil {
		if n, err = c.newTask(t); err != nil {
			return err
		}
	}
	if err := c.put(bucketTasks, []byte(t.ID), value); err != nil {
		return err
	}
	if err := c.put(bucketTaskOrder, number8(n), taskEntry(t)); err != nil {
		return err
	}
	c.emit(event.TaskChanged{Task: t})
	if t.State.Final() {
		if err := c.put(bucketTaskFinal, number8(n), []byte(t.ID)); err != nil {
			return err
		}
		if err := c.dropDraft(t.ID); err != nil {
			return err
		}
	}
	return c.retainTasks()
}

// oldTask returns what is stored of a task and its number; nil if nothing is.
func (c *change) oldTask(id string) (*task.Task, uint64, error) {
	b := c.get(bucketTasks, []byte(id))
	if b == nil {
		return nil, 0, nil
	}
	var t task.Task
	if err := decode("a task", b, &t); err != nil {
		return nil, 0, err
	}
	n, err := decodeNumber("the number of a task", c.get(bucketTaskNum, []byte(id)))
	return &t, n, err
}

// newTask gives a task its place in the lists.
func (c *change) newTask(t task.Task) (uint64, error) {
	n, err := c.next(bucketTasks)
	if err != nil {
		return 0, err
	}
	if err := c.put(bucketTaskNum, []byte(t.ID), number8(n)); err != nil {
		return 0, err
	}
	if err := c.put(bucketTaskChat, chatTaskKey(t.SessionID, n), []byte{}); err != nil {
		return 0, err
	}
	return n, c.countTasks(+1)
}

// countTasks keeps the number of tasks, which bbolt would have to walk the bucket for.
func (c *change) countTasks(by int64) error {
	n, err := c.taskCount()
	if err != nil {
		return err
	}
	return c.put(bucketMeta, metaTasks, number8(uint64(int64(n)+by)))
}

func (c *change) taskCount() (uint64, error) {
	b := c.get(bucketMeta, metaTasks)
	if b == nil {
		return 0, nil
	}
	return decodeNumber("the number of tasks", b)
}

// retainTasks removes the oldest tasks in a final state beyond MaxTasks.
func (c *change) retainTasks() error {
	count, err := c.taskCount()
	if err != nil {
		return err
	}
	for ; count > MaxTasks; count-- {
		k, id := c.tx.Bucket(bucketTaskFinal).Cursor().First()
		if k == nil {
			return nil
		}
		if err := c.removeTask(binary.BigEndian.Uint64(k), string(id)); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) removeTask(n uint64, id string) error {
	old, _, err := c.oldTask(id)
	if err != nil {
		return err
	}
	if old != nil {
		if err := c.del(bucketTaskChat, chatTaskKey(old.SessionID, n)); err != nil {
			return err
		}
	}
	for _, e := range []struct{ bucket, key []byte }{
		{bucketTasks, []byte(id)}, {bucketTaskNum, []byte(id)}, {bucketTaskOrder, number8(n)}, {bucketTaskFinal, number8(n)},
	} {
		if err := c.del(e.bucket, e.key); err != nil {
			return err
		}
	}
	return c.countTasks(-1)
}

func chatTaskKey(key session.Key, n uint64) []byte {
	return append([]byte(key.String()), number8(n)...)
}

// Task returns a task; ErrNotFound if there is none.
func (s *Store) Task(id string) (t task.Task, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		t = task.Task{}
		b := tx.Bucket(bucketTasks).Get([]byte(id))
		if b == nil {
			return fmt.Errorf("task %.*q: %w", maxTaskID, id, ErrNotFound)
		}
		return decode("a task", b, &t)
	})
	return t, err
}
