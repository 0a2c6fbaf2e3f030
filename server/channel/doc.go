// Package channel offers the core to MCP clients: the tools and resources that server/mcp serves, the store of its
// sessions, and the switch that opens and closes the endpoint.
//
// A call comes in through mcp, becomes one method of app.App, and its result goes back in the shape the contract of
// the endpoint names. Changes come the other way, as events of the core that become notifications.
package channel

import (
	"context"

	"ionclaw-tray/app"
	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// core is what the tools and resources need of app.App.
type core interface {
	Chat(app.ChatRequest) (*agent.Turn, error)
	Abort(context.Context, session.Key) (bool, error)
	Sessions(store.SessionQuery) (store.SessionPage, error)
	Session(session.Key, store.MessageQuery) (app.SessionView, error)
	DeleteSession(context.Context, session.Key) (bool, error)
	Agents() []app.AgentInfo
	Tasks(store.TaskQuery) (store.TaskPage, error)
	Task(id string) (task.Task, error)
}

var _ core = (*app.App)(nil)
