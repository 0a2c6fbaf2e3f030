package store

import (
	"bytes"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

const (
	// DefaultTasks is the length of a page of tasks.
	DefaultTasks = 50
	// MaxTaskPage is the longest page of tasks.
	MaxTaskPage = 500
)

// TaskQuery says which tasks to list. The zero value lists the newest ones.
type TaskQuery struct {
	Limit   int         // at most; 0: DefaultTasks; never more than MaxTaskPage
	Cursor  string      // TaskPage.Next of the page before; "": from the newest
	State   task.State  // "": all
	Agent   string      // "": all
	Session session.Key // zero: all
}

// TaskPage is a part of the list of tasks.
type TaskPage struct {
	Tasks []task.Task // newest first
	Next  string      // cursor of the following page; "": this was the last one
}

// taskEntry is what the list is filtered by without reading tasks: "{id}" 0 state 0 agent.
func taskEntry(t task.Task) []byte {
	return []byte(t.ID + "\x00" + string(t.State) + "\x00" + t.Agent)
}

// Tasks lists tasks, newest first. ErrBadCursor: the cursor is not of a list with the same filters; ErrInvalid: there
// is no such state.
func (s *Store) Tasks(q TaskQuery) (page TaskPage, err error) {
	if q.State != "" && !q.State.Valid() {
		return page, fmt.Errorf("listing tasks: %w: unknown state %q; known ones: %q", ErrInvalid, q.State, task.States)
	}
	filters := []string{string(q.State), q.Agent, ""}
	if !q.Session.IsZero() {
		filters[2] = q.Session.String()
	}
	before, err := decodeCursor(q.Cursor, "tasks", filters...)
	if err != nil {
		return page, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		l := taskLister{tx: tx, q: q, limit: bound(q.Limit, DefaultTasks, MaxTaskPage), filters: filters, page: TaskPage{Tasks: []task.Task{}}}
		err := l.walk(before)
		page = l.page
		return err
	})
	if err != nil {
		return TaskPage{}, fmt.Errorf("listing tasks: %w", err)
	}
	return page, nil
}

// taskLister fills one page. Only tasks of the page are decoded, however many are passed over.
type taskLister struct {
	tx      *bolt.Tx
	q       TaskQuery
	limit   int
	filters []string
	last    uint64
	page    TaskPage
}

func (l *taskLister) walk(before uint64) error {
	order := l.tx.Bucket(bucketTaskOrder)
	if l.q.Session.IsZero() {
		return walkBack(order, nil, before, l.visit)
	}
	return walkBack(l.tx.Bucket(bucketTaskChat), []byte(l.q.Session.String()), before, func(n uint64, _ []byte) (bool, error) {
		return l.visit(n, order.Get(number8(n)))
	})
}

func (l *taskLister) visit(n uint64, entry []byte) (bool, error) {
	id, state, agent, err := parseTaskEntry(entry)
	if err != nil {
		return false, err
	}
	if l.q.State != "" && string(state) != string(l.q.State) || l.q.Agent != "" && string(agent) != l.q.Agent {
		return true, nil
	}
	if len(l.page.Tasks) == l.limit {
		l.page.Next = encodeCursor(l.last, "tasks", l.filters...)
		return false, nil
	}
	var t task.Task
	if err := decode("a task", l.tx.Bucket(bucketTasks).Get(id), &t); err != nil {
		return false, err
	}
	l.page.Tasks, l.last = append(l.page.Tasks, t), n
	return true, nil
}

func parseTaskEntry(v []byte) (id, state, agent []byte, err error) {
	id, rest, ok1 := bytes.Cut(v, []byte{0})
	state, agent, ok2 := bytes.Cut(rest, []byte{0})
	if !ok1 || !ok2 {
		return nil, nil, nil, fmt.Errorf("reading the order of tasks: %w", ErrDamaged)
	}
	return id, state, agent, nil
}

// openTasks returns the ids of all tasks that are queued or running, oldest first.
func openTasks(tx *bolt.Tx) ([]string, error) {
	var ids []string
	err := walkBack(tx.Bucket(bucketTaskOrder), nil, ^uint64(0), func(_ uint64, entry []byte) (bool, error) {
		id, state, _, err := parseTaskEntry(entry)
		if err == nil && !task.State(state).Final() {
			ids = append(ids, string(id))
		}
		return true, err
	})
	slices.Reverse(ids)
	return ids, err
}
