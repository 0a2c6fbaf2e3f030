package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"ionclaw-tray/app/secret"
)

// Problem is something that a person should know and can mend.
type Problem struct {
	About string `json:"about"` // "configuration", "storage", "mcp", "agent main", …
	Text  string `json:"text"`
}

// Status is the state of the whole program.
type Status struct {
	Version  string                `json:"version"`
	PID      int                   `json:"pid"`
	Uptime   int64                 `json:"uptime_seconds"`
	Paths    Paths                 `json:"paths"`
	MCP      MCPStatus             `json:"mcp"`
	Agents   int                   `json:"agents"`
	Running  int                   `json:"running_turns"`
	Waiting  int                   `json:"waiting_turns"`
	Secrets  []secret.SourceStatus `json:"secrets"`
	Problems []Problem             `json:"problems"`
}

// Status describes the program for people. It may take as long as the keyring's probe.
func (a *App) Status(ctx context.Context) Status {
	running, waiting := a.agents.Counts()
	return Status{
		Version: a.opt.Version, PID: os.Getpid(), Uptime: int64(time.Since(a.started).Seconds()), Paths: a.opt.Paths,
		MCP: a.MCP(), Agents: len(a.Config().Agents), Running: running, Waiting: waiting,
		Secrets: a.vault.Status(ctx), Problems: a.Problems(),
	}
}

// Problems lists what is wrong now. It asks neither the keyring nor the network.
func (a *App) Problems() []Problem {
	a.mu.Lock()
	configError, channelProblem := a.configError, a.channelProblem
	a.mu.Unlock()
	list := []Problem{}
	if configError != "" {
		list = append(list, Problem{"configuration", configError})
	}
	if channelProblem != "" {
		list = append(list, Problem{"mcp", channelProblem})
	} else if err := a.tokenProblem(); err != nil {
		list = append(list, Problem{"mcp", "every request is refused: " + err.Error()})
	}
	if moved := a.store.Recovered(); moved != "" {
		list = append(list, Problem{"storage", fmt.Sprintf("the database was damaged; a new one was started and the old one is kept as %s", moved)})
	}
	if err := a.store.Err(); err != nil {
		list = append(list, Problem{"storage", fmt.Sprintf("chats and tasks cannot be stored: %v; free disk space or check the folder %s", err, a.opt.Paths.Data)})
	}
	for _, info := range a.Agents() {
		if _, missing := a.tools.Select(a.Config().Agents[info.Name].Tools); len(missing) > 0 {
			list = append(list, Problem{"agent " + info.Name, fmt.Sprintf("tools: there is no tool %q", missing)})
		}
	}
	return list
}

// tokenProblem is why the channel, although it runs, lets nobody in.
func (a *App) tokenProblem() error {
	c := a.Channel()
	if c == nil || !c.Running() || !a.Config().Channels.MCP.RequireAuth {
		return nil
	}
	return a.bearer.failed()
}

func (a *App) setChannelProblem(text string) {
	a.mu.Lock()
	a.channelProblem = text
	a.mu.Unlock()
}

// PID is the process id of the program.
func (a *App) PID() int { return os.Getpid() }
