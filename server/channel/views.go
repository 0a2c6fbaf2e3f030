package channel

import (
	"errors"
	"strings"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// Page sizes of the lists.
const (
	defaultSessions = 200
	defaultMessages = 200
	defaultTasks    = 50
	// maxListedResult bounds a task's result in a list, in bytes; get_task has all of it.
	maxListedResult = 500
)

// The objects below are what the tools return and the resources hold.

type sessionRow struct {
	Key         session.Key  `json:"key"`
	Channel     string       `json:"channel"`
	DisplayName string       `json:"display_name"`
	CreatedAt   session.Time `json:"created_at"`
	UpdatedAt   session.Time `json:"updated_at"`
}

type sessionRows struct {
	Sessions   []sessionRow `json:"sessions"`
	Count      int          `json:"count"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

type messageRow struct {
	Seq       uint64       `json:"seq"`
	Role      session.Role `json:"role"`
	Content   string       `json:"content"`
	Timestamp session.Time `json:"timestamp"`
	Agent     string       `json:"agent,omitempty"`
	Error     string       `json:"error,omitempty"`
}

type sessionMessages struct {
	Key       session.Key  `json:"key"`
	Messages  []messageRow `json:"messages"`
	CreatedAt session.Time `json:"created_at"`
	UpdatedAt session.Time `json:"updated_at"`
}

type agentRows struct {
	Agents []app.AgentInfo `json:"agents"`
}

type taskRow struct {
	ID        string       `json:"id"`
	Title     string       `json:"title"`
	State     task.State   `json:"state"`
	Channel   string       `json:"channel"`
	CreatedAt session.Time `json:"created_at"`
	Result    string       `json:"result"` // of a failed task: why
}

type taskRows struct {
	Tasks      []taskRow `json:"tasks"`
	Count      int       `json:"count"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

type sessionsQuery struct {
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
	Channel string `json:"channel"`
	Query   string `json:"query"`
}

func sessionList(c core, q sessionsQuery) (sessionRows, error) {
	if q.Limit == 0 {
		q.Limit = defaultSessions
	}
	page, err := c.Sessions(store.SessionQuery{Limit: q.Limit, Cursor: q.Cursor, Channel: q.Channel, Query: q.Query})
	if err != nil {
		return sessionRows{}, err
	}
	rows := make([]sessionRow, len(page.Sessions))
	for i, s := range page.Sessions {
		rows[i] = sessionRow{s.Key, s.Channel, s.DisplayName, s.CreatedAt, s.UpdatedAt}
	}
	return sessionRows{rows, len(rows), page.Next}, nil
}

func sessionDetail(c core, key session.Key, limit int, before uint64) (sessionMessages, error) {
	if limit == 0 {
		limit = defaultMessages
	}
	view, err := c.Session(key, store.MessageQuery{Limit: limit, Before: before})
	if errors.Is(err, store.ErrNotFound) {
		return sessionMessages{}, &app.Error{Code: app.CodeNotFound, Message: "there is no chat " + key.String(), Hint: "list_sessions shows the chats there are", Err: err}
	}
	if err != nil {
		return sessionMessages{}, err
	}
	rows := make([]messageRow, len(view.History))
	for i, m := range view.History {
		rows[i] = messageRow{m.Seq, m.Role, m.Content, m.Timestamp, m.Agent, m.Error}
	}
	return sessionMessages{key, rows, view.CreatedAt, view.UpdatedAt}, nil
}

func agentList(c core) agentRows { return agentRows{c.Agents()} }

type tasksQuery struct {
	Limit     int        `json:"limit"`
	Cursor    string     `json:"cursor"`
	State     task.State `json:"state"`
	Agent     string     `json:"agent"`
	SessionID string     `json:"session_id"`
}

func taskList(c core, q tasksQuery) (taskRows, error) {
	if q.Limit == 0 {
		q.Limit = defaultTasks
	}
	query := store.TaskQuery{Limit: q.Limit, Cursor: q.Cursor, State: q.State, Agent: q.Agent}
	if q.SessionID != "" {
		var err error
		if query.Session, err = session.Parse(q.SessionID); err != nil {
			return taskRows{}, err
		}
	}
	page, err := c.Tasks(query)
	if err != nil {
		return taskRows{}, err
	}
	rows := make([]taskRow, len(page.Tasks))
	for i, t := range page.Tasks {
		result := t.Result
		if t.ErrorMessage != "" {
			result = t.ErrorMessage
		}
		rows[i] = taskRow{t.ID, t.Title, t.State, t.Channel, t.CreatedAt, clip(result, maxListedResult)}
	}
	return taskRows{rows, len(rows), page.Next}, nil
}

func taskDetail(c core, id string) (task.Task, error) {
	t, err := c.Task(id)
	if errors.Is(err, store.ErrNotFound) {
		return t, &app.Error{Code: app.CodeNotFound, Message: "there is no task " + clipID(id), Hint: "list_tasks shows the tasks there are", Err: err}
	}
	return t, err
}

// maxShownID bounds how much of a wrong id an error text repeats, in bytes.
const maxShownID = 80

// clipID keeps a wrong id that somebody sent from filling an error text.
func clipID(id string) string { return clip(id, maxShownID) }

// clip cuts s after at most n bytes, not inside a character, and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
