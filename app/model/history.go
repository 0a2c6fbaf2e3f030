package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"ionclaw-tray/app/session"
)

// interrupted is the result of a call whose real one was lost when a turn was aborted or the program ended.
const interrupted = "The call was interrupted and has no result."

// wellFormed returns the conversation in the form that every provider accepts, and the system text of messages with
// that role. Providers refuse a call without a result, a result without its call, empty messages, and some of them
// two user messages in a row; an aborted turn or a history that was cut leaves all of these behind.
func wellFormed(messages []Message) (system string, out []Message) {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch m.Role {
		case session.RoleSystem:
			system = join(system, m.Text)
		case session.RoleUser:
			if strings.TrimSpace(m.Text) == "" {
				continue
			}
			out = appendText(out, m)
		case session.RoleAssistant:
			if len(m.ToolCalls) == 0 {
				if strings.TrimSpace(m.Text) != "" {
					out = appendText(out, m)
				}
				continue
			}
			out = append(out, m)
			results := make(map[string]Message)
			for i+1 < len(messages) && messages[i+1].Role == session.RoleTool {
				i++
				if _, twice := results[messages[i].ToolCallID]; !twice {
					results[messages[i].ToolCallID] = messages[i]
				}
			}
			for _, c := range m.ToolCalls {
				r, found := results[c.ID]
				if !found {
					r = Message{Role: session.RoleTool, Text: interrupted, ToolCallID: c.ID, ToolName: c.Name, ToolError: true}
				}
				out = append(out, r)
			}
		}
	}
	return system, out
}

// appendText adds a message of text only, or joins it with one of the same role.
func appendText(out []Message, m Message) []Message {
	if n := len(out); n > 0 && out[n-1].Role == m.Role && len(out[n-1].ToolCalls) == 0 {
		out[n-1].Text = join(out[n-1].Text, m.Text)
		return out
	}
	return append(out, Message{Role: m.Role, Text: m.Text})
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Forms of tool call ids that providers insist on. Calls in a history may come from another provider.
var (
	anyID     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	mistralID = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
)

// wireID makes an id that has the form, always the same one for the same id.
func wireID(id string, form *regexp.Regexp) string {
	if form.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// schema reads a tool's input schema. Providers demand an object with properties, and some refuse "$schema". The values
// stay as they were written: the encoders of the vendors' libraries would turn large numbers into strings.
func schema(raw json.RawMessage) map[string]any {
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil {
		in = nil
	}
	out := make(map[string]any, len(in)+2)
	for k, v := range in {
		out[k] = v
	}
	delete(out, "$schema")
	out["type"] = "object"
	if !object(bytes.TrimSpace(in["properties"])) {
		out["properties"] = struct{}{}
	}
	return out
}

// callArguments are the arguments of a call of the history, whatever was stored.
func callArguments(c session.ToolCall) json.RawMessage {
	return arguments(string(c.Arguments))
}
