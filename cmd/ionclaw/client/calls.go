package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// query collects parameters; empty ones are left out, so that the program's own defaults apply.
type query url.Values

func (q query) text(name, value string) query {
	if value != "" {
		url.Values(q).Set(name, value)
	}
	return q
}

func (q query) number(name string, value uint64) query {
	if value != 0 {
		url.Values(q).Set(name, strconv.FormatUint(value, 10))
	}
	return q
}

// limit keeps a value below zero, for the program to refuse it.
func (q query) limit(value int) query {
	if value != 0 {
		url.Values(q).Set("limit", strconv.Itoa(value))
	}
	return q
}

func (q query) on(path string) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + url.Values(q).Encode()
}

func seg(name string) string { return "/" + url.PathEscape(name) }

// Status is the state of the program. Its probe of the keyring may take some seconds.
func (c *Client) Status(ctx context.Context) (app.Status, error) {
	var s app.Status
	return s, c.do(ctx, http.MethodGet, "/status", nil, &s)
}

// MCP is the state of the MCP channel.
func (c *Client) MCP(ctx context.Context) (app.MCPStatus, error) {
	var s app.MCPStatus
	return s, c.do(ctx, http.MethodGet, "/channels/mcp", nil, &s)
}

// StartMCP opens the MCP channel for this run of the program.
func (c *Client) StartMCP(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/channels/mcp/start", nil, nil)
}

// StopMCP closes the MCP channel for this run of the program.
func (c *Client) StopMCP(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/channels/mcp/stop", nil, nil)
}

// Sessions lists chats, newest first.
func (c *Client) Sessions(ctx context.Context, q store.SessionQuery) (SessionList, error) {
	var l SessionList
	path := query{}.limit(q.Limit).text("cursor", q.Cursor).text("channel", q.Channel).text("query", q.Query).on("/sessions")
	return l, c.do(ctx, http.MethodGet, path, nil, &l)
}

// Session is one chat with its last messages, oldest first.
func (c *Client) Session(ctx context.Context, key session.Key, q store.MessageQuery) (Session, error) {
	var s Session
	path := query{}.limit(q.Limit).number("before", q.Before).on("/sessions" + seg(key.String()))
	return s, c.do(ctx, http.MethodGet, path, nil, &s)
}

// RenameSession gives a chat another display name and returns it as it is now.
func (c *Client) RenameSession(ctx context.Context, key session.Key, name string) (session.Info, error) {
	var info session.Info
	body := struct {
		DisplayName string `json:"display_name"`
	}{name}
	return info, c.do(ctx, http.MethodPatch, "/sessions"+seg(key.String()), body, &info)
}

// DeleteSession deletes a chat. It reports whether there was one.
func (c *Client) DeleteSession(ctx context.Context, key session.Key) (bool, error) {
	status, err := c.status(ctx, http.MethodDelete, "/sessions"+seg(key.String()))
	return status == "deleted", err
}

// Tasks lists tasks, newest first.
func (c *Client) Tasks(ctx context.Context, q store.TaskQuery) (TaskList, error) {
	var l TaskList
	params := query{}.limit(q.Limit).text("cursor", q.Cursor).text("state", string(q.State)).text("agent", q.Agent)
	if !q.Session.IsZero() {
		params.text("session_id", q.Session.String())
	}
	return l, c.do(ctx, http.MethodGet, params.on("/tasks"), nil, &l)
}

// Task is one task.
func (c *Client) Task(ctx context.Context, id string) (task.Task, error) {
	var t task.Task
	return t, c.do(ctx, http.MethodGet, "/tasks"+seg(id), nil, &t)
}

// AbortTask ends a turn. It reports whether it was still alive.
func (c *Client) AbortTask(ctx context.Context, id string) (bool, error) {
	status, err := c.status(ctx, http.MethodPost, "/tasks"+seg(id)+"/abort")
	return status == "aborted", err
}

// Agents lists the configured agents by name.
func (c *Client) Agents(ctx context.Context) ([]app.AgentInfo, error) {
	var l struct {
		Agents []app.AgentInfo `json:"agents"`
	}
	return l.Agents, c.do(ctx, http.MethodGet, "/agents", nil, &l)
}

// Agent is one agent with all its settings.
func (c *Client) Agent(ctx context.Context, name string) (Agent, error) {
	var a Agent
	return a, c.do(ctx, http.MethodGet, "/agents"+seg(name), nil, &a)
}

// DeleteAgent removes an agent from the configuration.
func (c *Client) DeleteAgent(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/agents"+seg(name), nil, nil)
}

// Credentials lists the configured credentials without their keys.
func (c *Client) Credentials(ctx context.Context) ([]app.CredentialInfo, error) {
	var l struct {
		Credentials []app.CredentialInfo `json:"credentials"`
	}
	return l.Credentials, c.do(ctx, http.MethodGet, "/credentials", nil, &l)
}

// GenerateCredential makes and stores a new random key. It is not returned.
func (c *Client) GenerateCredential(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, "/credentials"+seg(name)+"/generate", nil, nil)
}

// SetCredential stores a key.
func (c *Client) SetCredential(ctx context.Context, name, key string) error {
	body := struct {
		Key string `json:"key"`
	}{key}
	return c.do(ctx, http.MethodPut, "/credentials"+seg(name), body, nil)
}

// RevealCredential returns the key.
func (c *Client) RevealCredential(ctx context.Context, name string) (string, error) {
	var answer struct {
		Key string `json:"key"`
	}
	return answer.Key, c.do(ctx, http.MethodPost, "/credentials"+seg(name)+"/reveal", nil, &answer)
}

// DeleteCredential deletes the key and its entry in the configuration.
func (c *Client) DeleteCredential(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/credentials"+seg(name), nil, nil)
}

// status asks for something whose answer is {"status": …}.
func (c *Client) status(ctx context.Context, method, path string) (string, error) {
	var answer struct {
		Status string `json:"status"`
	}
	return answer.Status, c.do(ctx, method, path, nil, &answer)
}
