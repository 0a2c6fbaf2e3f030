package rest

import "ionclaw-tray/app"

func (a *api) mcp(*call) (app.MCPStatus, error) { return withLists(a.core.MCP()), nil }

func withLists(s app.MCPStatus) app.MCPStatus {
	s.Clients = list(s.Clients)
	return s
}

func (a *api) setMCP(c *call, s app.MCPSettings) (app.MCPStatus, error) {
	if err := a.core.SetMCP(s); err != nil {
		return app.MCPStatus{}, err
	}
	return a.mcp(c)
}

func (a *api) startMCP(c *call) (outcome, error) {
	return outcome{"started"}, a.core.StartMCP(c.ctx())
}

func (a *api) stopMCP(c *call) (outcome, error) {
	return outcome{"stopped"}, a.core.StopMCP(c.ctx())
}
