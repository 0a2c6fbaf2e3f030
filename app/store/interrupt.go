package store

import (
	"context"
	"errors"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// classInterrupted is the error class of tasks that the end of the program cut short.
const classInterrupted = "interrupted"

// InterruptTasks gives every task that is queued or running the state interrupted, with the reason as its error, and
// returns how many there were. What such a task had written of its answer (see Draft) becomes a message of its chat.
// It is called once at start, before anything runs: nothing is run again by itself.
func (s *Store) InterruptTasks(reason string) (int, error) {
	count := 0
	err := s.enqueue(s.life, len(reason), func(c *change) error {
		ids, err := openTasks(c.tx)
		if err != nil {
			return err
		}
		count = len(ids)
		for _, id := range ids {
			err := c.interrupt(id, reason)
			if errors.Is(err, ErrDamaged) { // one bad record must not keep the program from starting
				s.opt.Log.Error("a task cannot be read and is left as it is", "task", id, "err", err)
				count--
				continue
			}
			if err != nil {
				return err
			}
		}
		return nil
	}).Wait(context.Background())
	if err != nil {
		return 0, err
	}
	return count, nil
}

func (c *change) interrupt(id, reason string) error {
	old, _, err := c.oldTask(id)
	if err != nil || old == nil {
		return err
	}
	t, now := *old, c.now()
	d, err := c.readDraft(id)
	if err != nil {
		return err
	}
	if d != nil {
		if err := c.keepDraft(d, t, reason); err != nil {
			return err
		}
		t.Result = d.text.String()
	}
	t.State, t.QueuePosition = task.Interrupted, 0
	t.ErrorMessage, t.ErrorClass = reason, classInterrupted
	t.UpdatedAt = latest(now, t.UpdatedAt)
	t.CompletedAt = t.UpdatedAt
	return c.putTask(t)
}

// keepDraft makes the unfinished answer of a task a message of its chat, unless the chat is gone.
func (c *change) keepDraft(d *draft, t task.Task, reason string) error {
	r, err := readRow(c.tx, t.SessionID)
	if err != nil || r == nil {
		return err
	}
	a := &appended{key: t.SessionID, agent: d.agent, values: make([][]byte, 1), msgs: []session.Message{{
		Role: session.RoleAssistant, Content: d.text.String(), Agent: d.agent, TaskID: t.ID, Error: reason, Aborted: true,
	}}}
	if err := a.encode(0, c.store.opt.now); err != nil {
		return err
	}
	return c.append(a)
}
