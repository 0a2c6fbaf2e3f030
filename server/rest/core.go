package rest

import (
	"context"

	"ionclaw-tray/app"
	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

// Core is what the API needs of the program; *app.App is the one in use.
type Core interface {
	Program
	Channel
	Agents
	Chats
	Tasks
	Credentials
}

// Program is the state of the whole.
type Program interface {
	Version() string
	Config() *config.Config
	Status(ctx context.Context) app.Status
	Events() *event.Bus
}

// Channel is the MCP channel.
type Channel interface {
	MCP() app.MCPStatus
	SetMCP(app.MCPSettings) error
	StartMCP(ctx context.Context) error
	StopMCP(ctx context.Context) error
}

// Agents are the configured agents.
type Agents interface {
	Agents() []app.AgentInfo
	Agent(name string) (config.Agent, error)
	PutAgent(name string, ag config.Agent) error
	DeleteAgent(name string) error
}

// Chats are the chats and their turns.
type Chats interface {
	Chat(app.ChatRequest) (*agent.Turn, error)
	Abort(ctx context.Context, key session.Key) (bool, error)
	Sessions(store.SessionQuery) (store.SessionPage, error)
	Session(session.Key, store.MessageQuery) (app.SessionView, error)
	RenameSession(ctx context.Context, key session.Key, name string) error
	DeleteSession(ctx context.Context, key session.Key) (bool, error)
}

// Tasks are the records of turns.
type Tasks interface {
	Tasks(store.TaskQuery) (store.TaskPage, error)
	Task(id string) (task.Task, error)
	AbortTask(ctx context.Context, id string) (bool, error)
}

// Credentials are the stored keys.
type Credentials interface {
	Credentials(ctx context.Context) []app.CredentialInfo
	SetCredential(ctx context.Context, name, key string) error
	GenerateCredential(ctx context.Context, name string) (string, error)
	RevealCredential(ctx context.Context, name string) (string, error)
	DeleteCredential(ctx context.Context, name string) error
}

var _ Core = (*app.App)(nil)
