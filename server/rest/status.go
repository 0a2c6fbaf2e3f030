package rest

import "ionclaw-tray/app"

func (a *api) health(*call) (outcome, error) { return outcome{"ok"}, nil }

func (a *api) status(c *call) (app.Status, error) {
	s := a.core.Status(c.ctx())
	s.MCP = withLists(s.MCP)
	s.Secrets, s.Problems = list(s.Secrets), list(s.Problems)
	return s, nil
}
