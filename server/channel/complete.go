package channel

import (
	"context"
	"strings"

	"ionclaw-tray/app/store"
	"ionclaw-tray/server/mcp"
)

// maxCompletions is the most that the protocol allows in one answer.
const maxCompletions = 100

// Complete implements mcp.Completer: session keys and task ids for the resource templates, agent names for the list
// of agents.
func (r Resources) Complete(_ context.Context, req mcp.CompleteRequest) (mcp.Completion, error) {
	if req.RefType != "ref/resource" {
		return mcp.Completion{}, mcp.InvalidParams("ref", "only this server's resources can be completed")
	}
	switch req.Ref {
	case uriAgents:
		var found []string
		for _, a := range r.core.Agents() {
			if strings.HasPrefix(a.Name, req.Value) {
				found = append(found, a.Name)
			}
		}
		return completion(found), nil
	case uriSessions + "/{id}":
		return r.completeSession(req.Value)
	case uriTasks + "/{id}":
		return r.completeTask(req.Value)
	}
	return mcp.Completion{}, mcp.InvalidParams("ref", "there is no resource or template "+clipID(req.Ref))
}

func (r Resources) completeSession(value string) (mcp.Completion, error) {
	page, err := r.core.Sessions(store.SessionQuery{Limit: 1000})
	if err != nil {
		return mcp.Completion{}, err
	}
	var found []string
	for _, s := range page.Sessions {
		key := s.Key.String()
		// A person types the key as it is shown, its uuid alone, or what the chat is called.
		if strings.HasPrefix(key, value) || strings.HasPrefix(s.Key.ID, value) || strings.Contains(strings.ToLower(s.DisplayName), strings.ToLower(value)) {
			found = append(found, key)
		}
	}
	return completion(found), nil
}

func (r Resources) completeTask(value string) (mcp.Completion, error) {
	page, err := r.core.Tasks(store.TaskQuery{Limit: 500})
	if err != nil {
		return mcp.Completion{}, err
	}
	var found []string
	for _, t := range page.Tasks {
		if strings.HasPrefix(t.ID, value) {
			found = append(found, t.ID)
		}
	}
	return completion(found), nil
}

func completion(values []string) mcp.Completion {
	c := mcp.Completion{Values: values, Total: len(values)}
	if len(values) > maxCompletions {
		c.Values, c.HasMore = values[:maxCompletions], true
	}
	return c
}
