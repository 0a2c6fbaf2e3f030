package app

import (
	"maps"
	"slices"

	"ionclaw-tray/app/config"
)

// AgentInfo is one row of the list of agents.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model"`
}

// Agents lists the configured agents by name.
func (a *App) Agents() []AgentInfo {
	agents := a.Config().Agents
	list := make([]AgentInfo, 0, len(agents))
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		list = append(list, AgentInfo{Name: name, Description: agents[name].Description, Model: agents[name].Model})
	}
	return list
}

// Agent returns one agent's settings.
func (a *App) Agent(name string) (config.Agent, error) {
	ag, ok := a.Config().Agents[name]
	if !ok {
		return config.Agent{}, fail(CodeNotFound, "list the agents to see their names", "there is no agent %q", name)
	}
	return ag, nil
}

// PutAgent writes an agent into the configuration file, new or changed. Settings that have their default value are
// left out of the file.
func (a *App) PutAgent(name string, ag config.Agent) error {
	return a.edit(config.AgentEdits(name, ag)...)
}

// DeleteAgent removes an agent from the configuration file. One has to stay.
func (a *App) DeleteAgent(name string) error {
	if _, err := a.Agent(name); err != nil {
		return err
	}
	if len(a.Config().Agents) == 1 {
		return fail(CodeConflict, "add another agent first", "agent %q is the only one", name)
	}
	return a.edit(config.Edit{Path: []string{"agents", name}})
}
