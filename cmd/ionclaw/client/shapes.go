package client

import (
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// SessionList is a page of chats.
type SessionList struct {
	Sessions []session.Info `json:"sessions"`
	Next     string         `json:"next_cursor,omitempty"`
}

// Session is a chat with a part of its messages.
type Session struct {
	session.Info
	Messages []session.Message `json:"messages"` // in place of the number of the embedded row
}

// TaskList is a page of tasks.
type TaskList struct {
	Tasks []task.Task `json:"tasks"`
	Next  string      `json:"next_cursor,omitempty"`
}

// Agent is an agent's settings under their names in the configuration file.
type Agent struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Model         string   `json:"model"`
	Instructions  string   `json:"instructions"`
	Tools         []string `json:"tools"`
	MaxIterations int      `json:"max_iterations"`
	MaxHistory    int      `json:"max_history"`
	Params        Params   `json:"params"`
	Fallbacks     []string `json:"fallbacks"`
}

// Params are an agent's sampling settings.
type Params struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
}

// AgentOf gives the settings of the configuration the same shape.
func AgentOf(name string, a config.Agent) Agent {
	return Agent{
		Name: name, Description: a.Description, Model: a.Model, Instructions: a.Instructions,
		Tools: a.Tools, MaxIterations: a.MaxIterations, MaxHistory: a.MaxHistory,
		Params: Params(a.Params), Fallbacks: a.Fallbacks,
	}
}
