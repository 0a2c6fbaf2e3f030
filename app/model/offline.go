package model

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/tool"
)

// The built-in provider and its only model.
const (
	OfflineProvider = "builtin"
	OfflineModel    = OfflineProvider + "/offline"
)

// Offline is the provider that needs no network and no model. It does what can be done without one, always the same
// way: it says what it is and how to add a model, lists and runs tools on command, and chooses agents by the words of
// their descriptions. It never pretends to have understood anything.
type Offline struct{}

var (
	_ Provider = Offline{}
	_ Lister   = Offline{}
)

const offlineIntro = `This is the built-in offline mode, not a language model: your message arrived, but nothing here can understand it.

To get real answers, add a model to config.yml. With a local Ollama:

    providers:
      ollama: {base_url: http://127.0.0.1:11434/v1}
    agents:
      main: {model: ollama/llama3.2}

Or with an API key:

    credentials:
      anthropic: {type: simple}        # then: ionclaw credential set anthropic
    providers:
      anthropic: {credential: anthropic}
    agents:
      main: {model: anthropic/claude-sonnet-4-20250514}

Type /help to see what works without a model.`

const offlineHelp = `This is the built-in offline mode, not a language model. These commands work without one:

/tools             lists the tools of this agent
/call NAME {json}  runs a tool with a JSON object as arguments and shows its result
/help              shows this text

Any other message is answered with how to add a model.`

// Models implements Lister.
func (Offline) Models(context.Context) ([]string, error) { return []string{"offline"}, nil }

// Stream implements Provider. It fails only when ctx ends, or for a model other than "offline".
func (Offline) Stream(ctx context.Context, req Request, emit func(Chunk)) (Response, error) {
	if req.Model != "" && req.Model != "offline" {
		return Response{}, &Error{Class: ModelNotFound, Provider: OfflineProvider, Model: OfflineProvider + "/" + req.Model}
	}
	text, calls := offlineAnswer(req)
	var sent strings.Builder
	for _, w := range wordByWord(text) {
		if ctx.Err() != nil {
			return Response{Text: sent.String()}, context.Cause(ctx)
		}
		sent.WriteString(w)
		if emit != nil {
			emit(Chunk{Text: w})
		}
	}
	if ctx.Err() != nil {
		return Response{Text: text}, context.Cause(ctx)
	}
	return Response{Text: text, ToolCalls: calls}, nil
}

func offlineAnswer(req Request) (string, []session.ToolCall) {
	id := fmt.Sprintf("offline_%d", len(req.Messages))
	if req.ForceTool != "" {
		args, ok := forced(req)
		if !ok {
			return offlineIntro, nil
		}
		return "", []session.ToolCall{{ID: id, Name: req.ForceTool, Arguments: args}}
	}
	if len(req.Messages) == 0 {
		return offlineIntro, nil
	}
	last := req.Messages[len(req.Messages)-1]
	if last.Role == session.RoleTool {
		return results(req.Messages), nil
	}
	command, rest, _ := strings.Cut(strings.TrimSpace(last.Text), " ")
	switch command {
	case "/help":
		return offlineHelp, nil
	case "/tools":
		return list(req.Tools), nil
	case "/call":
		return callCommand(id, rest, req.Tools)
	}
	return offlineIntro, nil
}

// forced are the arguments of a tool that has to be called. Only the route tool can be answered without understanding.
func forced(req Request) (json.RawMessage, bool) {
	i := slices.IndexFunc(req.Tools, func(t tool.Spec) bool { return t.Name == req.ForceTool })
	if i < 0 || req.ForceTool != RouteToolName {
		return nil, false
	}
	agents, current := routeChoices(req.Tools[i])
	var text string
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == session.RoleUser {
			text = m.Text
			break
		}
	}
	if i := strings.LastIndex(text, RouteNewMessage); i >= 0 {
		text = text[i+len(RouteNewMessage):]
	}
	name := bestMatch(agents, current, text)
	if name == "" {
		return nil, false
	}
	args, err := json.Marshal(map[string]string{"agent": name})
	return args, err == nil
}

func list(tools []tool.Spec) string {
	if len(tools) == 0 {
		return "This agent has no tools. They are named under agents.NAME.tools in config.yml."
	}
	var b strings.Builder
	b.WriteString("Tools of this agent:\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "\n- %s: %s", t.Name, strings.Join(strings.Fields(t.Description), " "))
	}
	b.WriteString("\n\nRun one with /call NAME {json}.")
	return b.String()
}

func callCommand(id, rest string, tools []tool.Spec) (string, []session.ToolCall) {
	rest = strings.TrimSpace(rest)
	name, args := rest, ""
	if i := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '{' }); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if name == "" {
		return "Name the tool: /call NAME {json}. /tools lists the tools of this agent.", nil
	}
	if !slices.ContainsFunc(tools, func(t tool.Spec) bool { return t.Name == name }) {
		return fmt.Sprintf("This agent has no tool '%s'. /tools lists the ones it has.", name), nil
	}
	if args == "" {
		args = "{}"
	}
	if !object([]byte(args)) {
		return fmt.Sprintf("The arguments of '%s' are not a JSON object. Example: /call %s {\"key\": \"value\"}", name, name), nil
	}
	return "", []session.ToolCall{{ID: id, Name: name, Arguments: json.RawMessage(args)}}
}

// results shows the tool results at the end of the conversation.
func results(messages []Message) string {
	first := len(messages)
	for first > 0 && messages[first-1].Role == session.RoleTool {
		first--
	}
	var parts []string
	for _, m := range messages[first:] {
		head := "Result of"
		if m.ToolError {
			head = "Error of"
		}
		text := m.Text
		if text == "" {
			text = "(empty)"
		}
		parts = append(parts, fmt.Sprintf("%s %s:\n\n%s", head, m.ToolName, text))
	}
	return strings.Join(parts, "\n\n")
}

// wordByWord cuts a text behind each run of white space; joined, the pieces are the text.
func wordByWord(text string) []string {
	var out []string
	start, space := 0, false
	for i, r := range text {
		if space && !unicode.IsSpace(r) {
			out = append(out, text[start:i])
			start = i
		}
		space = unicode.IsSpace(r)
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
