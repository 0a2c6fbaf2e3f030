package app

import (
	"context"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
)

// Channel is the MCP endpoint as the core sees it. The server provides it.
type Channel interface {
	// Start opens the channel. With require_auth and no usable credential the error says why it stays closed.
	Start(ctx context.Context) error
	// Stop closes it, ends its MCP sessions and fails their waiting calls.
	Stop(ctx context.Context) error
	Running() bool
	// URL is the address for clients, from the live listener.
	URL() string
	Clients() []Client
	// Apply is told that another configuration is in force.
	Apply()
}

// Client is a connected MCP client.
type Client struct {
	Session   string       `json:"session"` // MCP session id
	Name      string       `json:"name"`
	Version   string       `json:"version"`
	Revision  string       `json:"revision"` // of the protocol
	Created   session.Time `json:"created_at"`
	LastUsed  session.Time `json:"last_used_at"`
	Calls     int64        `json:"calls"`
	Streaming bool         `json:"streaming"` // has an open stream
}

type channelBox struct{ Channel }

// SetChannel connects the core to the server's channel. Called once, before the server serves.
func (a *App) SetChannel(c Channel) { a.channel.Store(&channelBox{c}) }

// Channel returns the MCP channel, nil without a server.
func (a *App) Channel() Channel {
	if box := a.channel.Load(); box != nil {
		return box.Channel
	}
	return nil
}

// MCPStatus is the state and the saved settings of the MCP channel.
type MCPStatus struct {
	Name        string   `json:"name"`
	Enabled     bool     `json:"enabled"`
	Running     bool     `json:"running"`
	RequireAuth bool     `json:"require_auth"`
	Credential  string   `json:"credential"`
	URL         string   `json:"url"`
	Clients     []Client `json:"clients"`
}

// MCP tells how the MCP channel is.
func (a *App) MCP() MCPStatus {
	mcp := a.Config().Channels.MCP
	s := MCPStatus{Name: "mcp", Enabled: mcp.Enabled, RequireAuth: mcp.RequireAuth, Credential: mcp.Credential, Clients: []Client{}}
	if c := a.Channel(); c != nil {
		s.Running, s.URL, s.Clients = c.Running(), c.URL(), c.Clients()
	}
	return s
}

// MCPSettings are the settings of the channel that people change. Nil fields stay as they are.
type MCPSettings struct {
	Enabled     *bool   `json:"enabled"`
	RequireAuth *bool   `json:"require_auth"`
	Credential  *string `json:"credential"`
}

// SetMCP saves settings into the configuration file and puts them in force. It neither starts nor stops the channel.
func (a *App) SetMCP(s MCPSettings) error {
	cfg := a.Config()
	at := func(key string, value any) config.Edit {
		return config.Edit{Path: []string{"channels", "mcp", key}, Value: value}
	}
	var edits []config.Edit
	credential, auth := cfg.Channels.MCP.Credential, cfg.Channels.MCP.RequireAuth
	if s.Credential != nil {
		credential = *s.Credential
		if _, ok := cfg.Credentials[credential]; !ok && credential != "" {
			return fail(CodeNotFound, "generate it first, or choose one of the list of credentials", "credential: there is no credential %q", credential)
		}
		edits = append(edits, at("credential", credential))
	}
	if s.RequireAuth != nil {
		auth = *s.RequireAuth
		edits = append(edits, at("require_auth", *s.RequireAuth))
	}
	if s.Enabled != nil {
		edits = append(edits, at("enabled", *s.Enabled))
	}
	if len(edits) == 0 {
		return nil
	}
	if auth && credential == "" && (s.RequireAuth != nil || s.Credential != nil) {
		return fail(CodeBadRequest, "name the credential whose key is the token", "credential: require_auth needs one")
	}
	if err := a.edit(edits...); err != nil {
		return err
	}
	a.PublishChannel("")
	return nil
}

// StartMCP opens the channel, for this run only.
func (a *App) StartMCP(ctx context.Context) error {
	c := a.Channel()
	if c == nil {
		return fail(CodeUnavailable, "", "there is no server")
	}
	if c.Running() {
		return fail(CodeConflict, "", "the MCP channel is running already")
	}
	err := c.Start(ctx)
	if err != nil {
		a.PublishChannel(err.Error())
		return err
	}
	a.PublishChannel("")
	return nil
}

// StopMCP closes the channel, for this run only. Clients connect again after a start.
func (a *App) StopMCP(ctx context.Context) error {
	c := a.Channel()
	if c == nil || !c.Running() {
		return fail(CodeConflict, "", "the MCP channel is not running")
	}
	err := c.Stop(ctx)
	a.PublishChannel("")
	return err
}

// PublishChannel tells watchers how the channel is now; problem says why it could not start.
func (a *App) PublishChannel(problem string) {
	a.setChannelProblem(problem)
	c := a.Channel()
	a.events.Publish(event.ChannelChanged{Name: "mcp", Running: c != nil && c.Running(), Error: problem})
}
