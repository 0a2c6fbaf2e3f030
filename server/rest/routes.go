package rest

import (
	"math"
	"net/http"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// channels are the values of a chat's channel.
var channels = []string{session.ChannelMCP, session.ChannelDesktop, session.ChannelAPI, session.ChannelCLI}

func limit(byDefault, most uint64) param {
	return param{name: "limit", about: "How many at most.", min: 1, max: most, byDefault: byDefault}
}

var cursor = param{name: "cursor", about: "next_cursor of the page before; it is bound to the same filters."}

func states() []string {
	var names []string
	for _, s := range task.States {
		names = append(names, string(s))
	}
	return names
}

// routes is the table of all there is.
func (a *api) routes() []route {
	return []route{
		{method: get, path: "/health", open: true, summary: "Tells that the program answers.", handler: answering(a.health)},
		{method: get, path: "/status", summary: "The state of the whole program. Its probe of the keyring may take seconds.", handler: answering(a.status)},
		{method: get, path: "/openapi.json", summary: "This document.", handler: a.document()},
		{method: get, path: "/events", summary: "Everything that happens, as it happens. The header Last-Event-ID replays what was missed.", handler: a.watching()},

		{method: get, path: "/channels/mcp", summary: "State and settings of the MCP channel.", handler: answering(a.mcp)},
		{method: put, path: "/channels/mcp", summary: "Changes settings of the MCP channel. Absent fields stay.", handler: taking(a.setMCP)},
		{method: post, path: "/channels/mcp/start", summary: "Opens the MCP channel for this run.", handler: answering(a.startMCP)},
		{method: post, path: "/channels/mcp/stop", summary: "Closes the MCP channel for this run.", handler: answering(a.stopMCP)},

		{method: get, path: "/agents", summary: "The agents by name.", handler: answering(a.agents)},
		{method: get, path: "/agents/{name}", summary: "All settings of an agent.", handler: answering(a.agent)},
		{method: put, path: "/agents/{name}", summary: "Makes an agent what the body says. Absent settings get their defaults.", handler: taking(a.putAgent)},
		{method: remove, path: "/agents/{name}", summary: "Removes an agent.", handler: answering(a.deleteAgent)},

		{method: get, path: "/sessions", summary: "Chats, last changed first.", handler: answering(a.sessions), query: []param{
			limit(store.DefaultSessions, store.MaxSessions), cursor,
			{name: "channel", about: "Only chats of this channel.", oneOf: channels},
			{name: "query", about: "Only chats with this in their name or messages, in any case and with or without accents. A page of a search may be short, or empty, and yet have a next_cursor.", maxLen: store.MaxQuery},
		}},
		{method: get, path: "/sessions/{key}", summary: "A chat with its last messages, oldest first.", handler: answering(a.session), query: []param{
			limit(store.DefaultMessages, MaxMessages),
			{name: "before", about: "Only messages before this sequence number.", min: 1, max: math.MaxInt64},
		}},
		{method: get, path: "/sessions/{key}/export", summary: "A chat with all its messages, as a file.", handler: a.exporting(), query: []param{
			{name: "format", about: "markdown (for people, the default) or json.", oneOf: []string{formatMarkdown, formatJSON}},
		}},
		{method: patch, path: "/sessions/{key}", summary: "Gives a chat another display name.", handler: taking(a.renameSession)},
		{method: remove, path: "/sessions/{key}", summary: "Ends what runs in a chat and deletes it.", handler: answering(a.deleteSession)},
		{method: post, path: "/sessions/{key}/messages", summary: `Says something in a chat and answers with the result of the turn. The key "new" begins a chat. The turn goes on if the client leaves.`, handler: a.talking()},
		{method: post, path: "/sessions/{key}/abort", summary: "Ends the running turn of a chat and drops what waits behind it.", handler: answering(a.abortSession)},

		{method: get, path: "/tasks", summary: "Tasks, newest first.", handler: answering(a.tasks), query: []param{
			limit(store.DefaultTasks, store.MaxTaskPage), cursor,
			{name: "state", about: "Only tasks in this state.", oneOf: states()},
			{name: "agent", about: "Only tasks of this agent."},
			{name: "session_id", about: "Only tasks of this chat."},
		}},
		{method: get, path: "/tasks/{id}", summary: "One task.", handler: answering(a.task)},
		{method: post, path: "/tasks/{id}/abort", summary: "Ends one turn, running or waiting.", handler: answering(a.abortTask)},

		{method: get, path: "/credentials", summary: "The credentials by name, without their keys.", handler: answering(a.credentials)},
		{method: put, path: "/credentials/{name}", summary: "Stores a key.", handler: taking(a.setCredential)},
		{method: remove, path: "/credentials/{name}", summary: "Deletes a key, unless something uses it.", handler: answering(a.deleteCredential)},
		{method: post, path: "/credentials/{name}/generate", summary: "Makes and stores a random key, without telling it.", handler: answering(a.generateCredential)},
		{method: post, path: "/credentials/{name}/reveal", summary: "Tells the key.", handler: answering(a.revealCredential)},
	}
}
