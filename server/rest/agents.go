package rest

import (
	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
)

type agentList struct {
	Agents []app.AgentInfo `json:"agents"`
}

// agentView are all settings of an agent under their names in config.yml.
type agentView struct {
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	Model         string      `json:"model"`
	Instructions  string      `json:"instructions"`
	Tools         []string    `json:"tools"`
	MaxIterations int         `json:"max_iterations"`
	MaxHistory    int         `json:"max_history"`
	Params        agentParams `json:"params"`
	Fallbacks     []string    `json:"fallbacks"`
}

// agentBody is what PUT takes. Absent numbers and an absent model get the defaults of config.yml.
type agentBody struct {
	Description   string      `json:"description,omitempty"`
	Model         string      `json:"model,omitempty"`
	Instructions  string      `json:"instructions,omitempty"`
	Tools         []string    `json:"tools,omitempty"`
	MaxIterations *int        `json:"max_iterations,omitempty"`
	MaxHistory    *int        `json:"max_history,omitempty"`
	Params        agentParams `json:"params,omitzero"`
	Fallbacks     []string    `json:"fallbacks,omitempty"`
}

type agentParams struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
}

func (b agentBody) settings() (config.Agent, error) {
	ag := config.Agent{
		Description: b.Description, Model: b.Model, Instructions: b.Instructions,
		Tools: list(b.Tools), MaxIterations: config.DefaultMaxIterations, MaxHistory: config.DefaultMaxHistory,
		Params: config.Params(b.Params), Fallbacks: list(b.Fallbacks),
	}
	if b.Model == "" {
		ag.Model = config.DefaultModel
	}
	for _, n := range []struct {
		name  string
		given *int
		into  *int
	}{{"max_iterations", b.MaxIterations, &ag.MaxIterations}, {"max_history", b.MaxHistory, &ag.MaxHistory}} {
		if n.given == nil {
			continue
		}
		if *n.given < 1 { // a zero would pass for an absent one below
			return ag, badRequest("leave it out for the default", "%s: must be at least 1, not %d", n.name, *n.given)
		}
		*n.into = *n.given
	}
	return ag, nil
}

func (a *api) agents(*call) (agentList, error) { return agentList{list(a.core.Agents())}, nil }

func (a *api) agent(c *call) (agentView, error) {
	name, err := c.path("name")
	if err != nil {
		return agentView{}, err
	}
	ag, err := a.core.Agent(name)
	if err != nil {
		return agentView{}, err
	}
	return agentView{
		Name: name, Description: ag.Description, Model: ag.Model, Instructions: ag.Instructions,
		Tools: list(ag.Tools), MaxIterations: ag.MaxIterations, MaxHistory: ag.MaxHistory,
		Params: agentParams(ag.Params), Fallbacks: list(ag.Fallbacks),
	}, nil
}

func (a *api) putAgent(c *call, body agentBody) (agentView, error) {
	name, err := c.path("name")
	if err != nil {
		return agentView{}, err
	}
	settings, err := body.settings()
	if err != nil {
		return agentView{}, err
	}
	if err := a.core.PutAgent(name, settings); err != nil {
		return agentView{}, err
	}
	return a.agent(c)
}

func (a *api) deleteAgent(c *call) (outcome, error) {
	name, err := c.path("name")
	if err != nil {
		return outcome{}, err
	}
	return outcome{"deleted"}, a.core.DeleteAgent(name)
}
