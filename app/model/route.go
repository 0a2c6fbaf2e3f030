package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ionclaw-tray/app/tool"
)

// RouteToolName is the tool by which a model chooses the agent for a chat.
const RouteToolName = "route"

// RouteNewMessage marks the person's new message in a text that also holds the end of the chat. The offline provider
// looks only at what follows the last one.
const RouteNewMessage = "New message: "

// RouteAgent is an agent to choose from.
type RouteAgent struct {
	Name        string // [A-Za-z0-9_-]{1,64}
	Description string
}

// RouteTool is the tool of a choice between agents. The request that uses it sets ForceTool to RouteToolName; ParseRoute
// reads the answer. The agents are listed in the tool's description, one line each, which every model understands and
// the offline provider reads back:
//
//   - NAME: description on one line
//
// The input is {"agent": "NAME"}, with the names as enum. current is the agent that the chat has now; "": none.
func RouteTool(agents []RouteAgent, current string) tool.Spec {
	var d strings.Builder
	d.WriteString("Chooses the agent that answers the person's last message. The agents are:\n")
	names := make([]string, 0, len(agents))
	for _, a := range agents {
		fmt.Fprintf(&d, "- %s: %s\n", a.Name, strings.Join(strings.Fields(a.Description), " "))
		names = append(names, a.Name)
	}
	if current != "" {
		fmt.Fprintf(&d, "The chat is with %s now. Keep that agent unless the topic clearly changes.\n", current)
	}
	enum, err := json.Marshal(names)
	if err != nil {
		enum = []byte("[]") // strings always marshal
	}
	return tool.Spec{
		Name:        RouteToolName,
		Description: d.String(),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string","enum":` + string(enum) + `,"description":"name of the agent"}},"required":["agent"],"additionalProperties":false}`),
	}
}

// errNoRoute is an answer that chooses no agent.
var errNoRoute = errors.New("the model chose no agent")

// ParseRoute returns the name that a model chose: from its call of the route tool, or, from a model that does not
// follow a forced tool, its text if that is one word or such a call as JSON. The name is as the model wrote it; whether
// there is such an agent, the caller decides.
func ParseRoute(r Response) (string, error) {
	for _, c := range r.ToolCalls {
		if c.Name == RouteToolName {
			return routeName(c.Arguments)
		}
	}
	text := strings.Trim(strings.TrimSpace(r.Text), "`\"'*. \n")
	if text == "" || strings.ContainsAny(text, " \t\r\n") && !strings.HasPrefix(text, "{") {
		return "", errNoRoute
	}
	if strings.HasPrefix(text, "{") {
		return routeName(json.RawMessage(text))
	}
	return text, nil
}

func routeName(args json.RawMessage) (string, error) {
	var in struct {
		Agent     string `json:"agent"`
		Arguments struct {
			Agent string `json:"agent"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return "", fmt.Errorf("%w: %w", errNoRoute, err)
	}
	name := strings.TrimSpace(in.Agent)
	if name == "" {
		name = strings.TrimSpace(in.Arguments.Agent)
	}
	if name == "" {
		return "", errNoRoute
	}
	return name, nil
}

var (
	routeLine    = regexp.MustCompile(`(?m)^- ([A-Za-z0-9_-]{1,64}): (.*)$`)
	routeCurrent = regexp.MustCompile(`(?m)^The chat is with ([A-Za-z0-9_-]{1,64}) now\.`)
)

// routeChoices reads back what RouteTool wrote.
func routeChoices(s tool.Spec) (agents []RouteAgent, current string) {
	for _, m := range routeLine.FindAllStringSubmatch(s.Description, -1) {
		agents = append(agents, RouteAgent{m[1], m[2]})
	}
	if m := routeCurrent.FindStringSubmatch(s.Description); m != nil {
		current = m[1]
	}
	return agents, current
}
