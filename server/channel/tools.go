package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
	"ionclaw-tray/server/mcp"
)

// Tools makes the tools of the endpoint, in the order in which clients see them.
func Tools(c core) *mcp.ToolSet {
	t := tools{c}
	read := mcp.Annotations{ReadOnly: yes, OpenWorld: no}
	return mcp.NewToolSet(
		&mcp.Tool{
			Name: "chat", Title: "Chat with an agent", Handle: t.chat,
			Description: "Sends a message to one of the user's own AI agents and returns its answer. " +
				"Without session_id the conversation of this connection goes on; with one, that chat is continued.",
			InputSchema: json.RawMessage(schemaChatIn),
			Annotations: mcp.Annotations{ReadOnly: no, Destructive: no, Idempotent: no, OpenWorld: yes},
		},
		&mcp.Tool{
			Name: "abort", Title: "Abort an answer", Handle: t.abort,
			Description:  "Stops the answer that is being written in a chat, and drops the messages that wait there.",
			InputSchema:  json.RawMessage(schemaSessionIn),
			OutputSchema: json.RawMessage(schemaAbortOut),
			Annotations:  mcp.Annotations{ReadOnly: no, Destructive: no, Idempotent: yes, OpenWorld: no},
		},
		&mcp.Tool{
			Name: "list_sessions", Title: "List chats", Handle: t.listSessions,
			Description:  "Lists the chats with the user's agents, newest first.",
			InputSchema:  json.RawMessage(schemaListSessionsIn),
			OutputSchema: json.RawMessage(schemaListSessionsOut),
			Annotations:  read,
		},
		&mcp.Tool{
			Name: "get_session", Title: "Read a chat", Handle: t.getSession,
			Description:  "Returns the last messages of a chat, oldest first.",
			InputSchema:  json.RawMessage(schemaGetSessionIn),
			OutputSchema: json.RawMessage(schemaGetSessionOut),
			Annotations:  read,
		},
		&mcp.Tool{
			Name: "delete_session", Title: "Delete a chat", Handle: t.deleteSession,
			Description:  "Deletes a chat with all its messages. An answer that is being written there is stopped first.",
			InputSchema:  json.RawMessage(schemaSessionIn),
			OutputSchema: json.RawMessage(schemaDeleteOut),
			Annotations:  mcp.Annotations{ReadOnly: no, Destructive: yes, Idempotent: yes, OpenWorld: no},
		},
		&mcp.Tool{
			Name: "list_agents", Title: "List agents", Handle: t.listAgents,
			Description:  "Lists the user's agents: name, what it is for, and its model.",
			InputSchema:  json.RawMessage(schemaNone),
			OutputSchema: json.RawMessage(schemaListAgentsOut),
			Annotations:  read,
		},
		&mcp.Tool{
			Name: "list_tasks", Title: "List tasks", Handle: t.listTasks,
			Description:  "Lists the agents' tasks (one for each message), newest first, with their state.",
			InputSchema:  json.RawMessage(schemaListTasksIn),
			OutputSchema: json.RawMessage(schemaListTasksOut),
			Annotations:  read,
		},
		&mcp.Tool{
			Name: "get_task", Title: "Read a task", Handle: t.getTask,
			Description:  "Returns one task with its full result or its error.",
			InputSchema:  json.RawMessage(schemaGetTaskIn),
			OutputSchema: json.RawMessage(schemaTask),
			Annotations:  read,
		},
	)
}

var (
	yes = ptr(true)
	no  = ptr(false)
)

func ptr[T any](v T) *T { return &v }

type tools struct{ core core }

// decode reads arguments that have passed the tool's schema.
func decode(call *mcp.Call, into any) error {
	if err := json.Unmarshal(call.Arguments, into); err != nil {
		return fmt.Errorf("decoding arguments: %w", err)
	}
	return nil
}

// object makes a result of a JSON object: indented text for those who read text, the object for those who do not.
func object(v any) (*mcp.Result, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("indenting result: %w", err)
	}
	return &mcp.Result{Content: []mcp.Content{mcp.Text(text.String())}, StructuredContent: raw}, nil
}

// encode is json.Marshal without HTML escapes: answers are read by people and models.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding result: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// refusal turns an error of the core into a result that the assistant reads. What is not the caller's doing stays an
// error, which mcp logs and hides.
func refusal(err error) (*mcp.Result, error) {
	e := app.AsError(err)
	if e.Code == app.CodeInternal {
		return nil, err
	}
	return mcp.ErrorResult(e.Error()), nil
}

type sessionArgs struct {
	SessionID string `json:"session_id"`
}

// key reads the session argument of a call.
func (a sessionArgs) key() (session.Key, error) { return session.Parse(a.SessionID) }

func (t tools) abort(ctx context.Context, call *mcp.Call) (*mcp.Result, error) {
	return t.onSession(ctx, call, t.core.Abort, "aborted", "no_active_turn")
}

func (t tools) deleteSession(ctx context.Context, call *mcp.Call) (*mcp.Result, error) {
	return t.onSession(ctx, call, t.core.DeleteSession, "deleted", "not_found")
}

// onSession does something to a chat and says which of two things came of it.
func (t tools) onSession(ctx context.Context, call *mcp.Call, do func(context.Context, session.Key) (bool, error), did, didNot string) (*mcp.Result, error) {
	var args sessionArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	key, err := args.key()
	if err != nil {
		return refusal(err)
	}
	ok, err := do(ctx, key)
	if err != nil {
		return refusal(err)
	}
	status := didNot
	if ok {
		status = did
	}
	return object(struct {
		Status    string      `json:"status"`
		SessionID session.Key `json:"session_id"`
	}{status, key})
}

func (t tools) listAgents(context.Context, *mcp.Call) (*mcp.Result, error) {
	return object(agentList(t.core))
}

func (t tools) listSessions(_ context.Context, call *mcp.Call) (*mcp.Result, error) {
	return answer(call, func(q sessionsQuery) (sessionRows, error) { return sessionList(t.core, q) })
}

func (t tools) getSession(_ context.Context, call *mcp.Call) (*mcp.Result, error) {
	return answer(call, func(args struct {
		sessionArgs
		Limit  int    `json:"limit"`
		Before uint64 `json:"before"`
	}) (sessionMessages, error) {
		key, err := args.key()
		if err != nil {
			return sessionMessages{}, err
		}
		return sessionDetail(t.core, key, args.Limit, args.Before)
	})
}

func (t tools) listTasks(_ context.Context, call *mcp.Call) (*mcp.Result, error) {
	return answer(call, func(q tasksQuery) (taskRows, error) { return taskList(t.core, q) })
}

func (t tools) getTask(_ context.Context, call *mcp.Call) (*mcp.Result, error) {
	return answer(call, func(args struct {
		TaskID string `json:"task_id"`
	}) (task.Task, error) {
		return taskDetail(t.core, args.TaskID)
	})
}

// answer reads the arguments of a call, asks the core, and makes the result of what it says.
func answer[Args, Value any](call *mcp.Call, ask func(Args) (Value, error)) (*mcp.Result, error) {
	var args Args
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	v, err := ask(args)
	if err != nil {
		return refusal(err)
	}
	return object(v)
}
