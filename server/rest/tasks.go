package rest

import (
	"fmt"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

type taskList struct {
	Tasks []task.Task `json:"tasks"`
	Next  string      `json:"next_cursor,omitempty"`
}

func (a *api) tasks(c *call) (taskList, error) {
	q := store.TaskQuery{
		Limit: c.query.int("limit"), Cursor: c.query.text("cursor"),
		State: task.State(c.query.text("state")), Agent: c.query.text("agent"),
	}
	if id := c.query.text("session_id"); id != "" {
		var err error
		if q.Session, err = session.Parse(id); err != nil {
			return taskList{}, fmt.Errorf("session_id: %w", err)
		}
	}
	page, err := a.core.Tasks(q)
	return taskList{list(page.Tasks), page.Next}, err
}

func (a *api) task(c *call) (task.Task, error) {
	id, err := c.path("id")
	if err != nil {
		return task.Task{}, err
	}
	return a.core.Task(id)
}

func (a *api) abortTask(c *call) (outcome, error) {
	id, err := c.path("id")
	if err != nil {
		return outcome{}, err
	}
	alive, err := a.core.AbortTask(c.ctx(), id)
	return done(alive, "aborted", "not_running"), err
}
