package channel

import (
	"context"
	"errors"
	"strings"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/server/mcp"
)

// URIs of the resources.
const (
	uriSessions = "ionclaw://sessions"
	uriAgents   = "ionclaw://agents"
	uriTasks    = "ionclaw://tasks"
	jsonType    = "application/json"
)

// Resources are the lists and objects of the core as MCP resources.
type Resources struct{ core core }

var (
	_ mcp.Resources = Resources{}
	_ mcp.Completer = Resources{}
)

// List implements mcp.Resources.
func (Resources) List() []mcp.Resource {
	return []mcp.Resource{
		{URI: uriSessions, Name: "sessions", Title: "Chats", Description: "The newest chats with the user's agents", MIMEType: jsonType},
		{URI: uriAgents, Name: "agents", Title: "Agents", Description: "The user's agents", MIMEType: jsonType},
		{URI: uriTasks, Name: "tasks", Title: "Tasks", Description: "The newest tasks of the agents", MIMEType: jsonType},
	}
}

// Templates implements mcp.Resources.
func (Resources) Templates() []mcp.ResourceTemplate {
	return []mcp.ResourceTemplate{
		{URITemplate: uriSessions + "/{id}", Name: "session", Title: "Chat", Description: "One chat with its last messages; id is a uuid, channel:uuid or agent:name:channel:uuid", MIMEType: jsonType},
		{URITemplate: uriTasks + "/{id}", Name: "task", Title: "Task", Description: "One task with its result", MIMEType: jsonType},
	}
}

// Read implements mcp.Resources.
func (r Resources) Read(_ context.Context, uri string) ([]mcp.ResourceContents, error) {
	v, err := r.value(uri)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, session.ErrBadKey) {
		return nil, mcp.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(raw)}}, nil
}

func (r Resources) value(uri string) (any, error) {
	switch uri {
	case uriSessions:
		return sessionList(r.core, sessionsQuery{})
	case uriAgents:
		return agentList(r.core), nil
	case uriTasks:
		return taskList(r.core, tasksQuery{})
	}
	if id, ok := strings.CutPrefix(uri, uriSessions+"/"); ok {
		key, err := session.Parse(unescape(id))
		if err != nil {
			return nil, err
		}
		return sessionDetail(r.core, key, 0, 0)
	}
	if id, ok := strings.CutPrefix(uri, uriTasks+"/"); ok {
		return taskDetail(r.core, id)
	}
	return nil, mcp.ErrNotFound
}

// unescape undoes what URI templates do to the colons of a key (RFC 6570, simple expansion).
func unescape(id string) string {
	return strings.NewReplacer("%3A", ":", "%3a", ":").Replace(id)
}

// Canonical implements mcp.Resources: a chat has one name here, in whatever form its key was written. What does not
// exist yet may come: a chat is begun by its first message.
func (r Resources) Canonical(uri string) (string, bool) {
	switch uri {
	case uriSessions, uriAgents, uriTasks:
		return uri, true
	}
	if id, ok := strings.CutPrefix(uri, uriSessions+"/"); ok {
		key, err := session.Parse(unescape(id))
		return uriSession(key), err == nil
	}
	id, ok := strings.CutPrefix(uri, uriTasks+"/")
	return uri, ok && id != ""
}

func uriSession(key session.Key) string { return uriSessions + "/" + key.String() }
