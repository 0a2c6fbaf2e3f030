package agent

import (
	"errors"
	"fmt"
	"strings"

	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
)

// system builds the system prompt: the agent's instructions, then what it cannot know.
func (w *work) system() string {
	var b strings.Builder
	if s := strings.TrimSpace(w.cfg.Instructions); s != "" {
		b.WriteString(s)
		b.WriteString("\n\n")
	}
	fmt.Fprintf(&b, "You are the agent %q. It is %s. ", w.name, w.now().Format("Monday, 2006-01-02 15:04 -07:00"))
	switch w.turn.req.Channel {
	case session.ChannelMCP:
		b.WriteString("The message comes from an IDE assistant over MCP; its user reads your answer there.")
	case session.ChannelCLI:
		b.WriteString("The message comes from a terminal.")
	default:
		b.WriteString("The message comes from a chat window.")
	}
	return b.String()
}

// lostResult answers a call whose result never came, because the program or the turn ended first.
const lostResult = "No result: the turn ended before the tool had finished."

// conversation turns stored messages into what model APIs accept: it begins with a user message, and each tool call
// is followed by exactly one result.
func conversation(stored []session.Message) []model.Message {
	for len(stored) > 0 && stored[0].Role != session.RoleUser {
		stored = stored[1:]
	}
	var out []model.Message
	for i := 0; i < len(stored); i++ {
		m := stored[i]
		switch m.Role {
		case session.RoleUser:
			out = append(out, model.Message{Role: session.RoleUser, Text: m.Content})
		case session.RoleAssistant:
			if m.Content == "" && len(m.ToolCalls) == 0 {
				continue // a failure before the first word
			}
			out = append(out, model.Message{Role: session.RoleAssistant, Text: m.Content, ToolCalls: m.ToolCalls})
			out = append(out, results(m.ToolCalls, stored[i+1:])...)
		}
	}
	return out
}

// results finds the answers of calls among the tool messages that follow directly.
func results(calls []session.ToolCall, following []session.Message) []model.Message {
	byID := make(map[string]session.Message, len(calls))
	for _, m := range following {
		if m.Role != session.RoleTool {
			break
		}
		byID[m.ToolCallID] = m
	}
	out := make([]model.Message, 0, len(calls))
	for _, c := range calls {
		m, ok := byID[c.ID]
		if !ok {
			m = session.Message{Content: lostResult, ToolError: true}
		}
		out = append(out, model.Message{Role: session.RoleTool, Text: m.Content, ToolCallID: c.ID, ToolName: c.Name, ToolError: m.ToolError})
	}
	return out
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
