package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is what a client asked for, the same for both styles.
type Request struct {
	Style       Style
	Header      http.Header // credentials are masked
	Body        []byte      // as received
	Model       string
	System      string
	Messages    []Message
	Tools       []Tool
	ForceTool   string
	MaxTokens   int
	Temperature *float64
	TopP        *float64
	Stream      bool
	WantUsage   bool // OpenAI: stream_options.include_usage

	gone, done chan struct{}
}

// Message is one entry of the conversation. Blocks of one kind are joined; a user message of the Anthropic style that
// holds tool results comes apart into messages of role "tool" and, if there is text, one of role "user".
type Message struct {
	Role       string
	Text       string
	ToolCalls  []ToolCall
	ToolCallID string
	ToolError  bool // Anthropic only; the other style has no such field
}

// Tool is a tool that the request offered.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Gone is closed when the client went away before the answer was complete.
func (r *Request) Gone() <-chan struct{} { return r.gone }

// Done is closed when the server has nothing more to do for the request.
func (r *Request) Done() <-chan struct{} { return r.done }

// LastText is the text of the last message, whatever its role.
func (r *Request) LastText() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

func parse(style Style, hr *http.Request, body []byte) (*Request, error) {
	r := &Request{Style: style, Header: hr.Header.Clone(), Body: body, gone: make(chan struct{}), done: make(chan struct{})}
	for _, h := range []string{"Authorization", "X-Api-Key"} {
		if r.Header.Get(h) != "" {
			r.Header.Set(h, "***")
		}
	}
	var in wire
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("parsing the request: %w", err)
	}
	r.Model, r.Stream, r.Temperature, r.TopP = in.Model, in.Stream, in.Temperature, in.TopP
	r.MaxTokens = max(in.MaxTokens, in.MaxCompletionTokens)
	r.WantUsage = in.StreamOptions.IncludeUsage
	r.ForceTool = in.ToolChoice.force()
	r.System = in.System.text()
	for _, t := range in.Tools {
		if style == OpenAI {
			r.Tools = append(r.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
		} else {
			r.Tools = append(r.Tools, Tool{t.Name, t.Description, t.InputSchema})
		}
	}
	for _, m := range in.Messages {
		if style == OpenAI {
			r.addOpenAI(m)
		} else {
			r.addAnthropic(m)
		}
	}
	return r, nil
}

func (r *Request) addOpenAI(m wireMessage) {
	if m.Role == "system" {
		r.System += m.Content.text()
		return
	}
	out := Message{Role: m.Role, Text: m.Content.text(), ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	r.Messages = append(r.Messages, out)
}

func (r *Request) addAnthropic(m wireMessage) {
	out := Message{Role: m.Role, Text: m.Content.text()}
	for _, b := range m.Content {
		switch b.Type {
		case "tool_use":
			out.ToolCalls = append(out.ToolCalls, ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case "tool_result":
			r.Messages = append(r.Messages, Message{Role: "tool", Text: b.Content.text(), ToolCallID: b.ToolUseID, ToolError: b.IsError})
		}
	}
	if out.Text != "" || out.ToolCalls != nil {
		r.Messages = append(r.Messages, out)
	}
}

// wire holds the fields of both styles; they do not collide.
type wire struct {
	Model               string        `json:"model"`
	System              blocks        `json:"system"`
	Messages            []wireMessage `json:"messages"`
	MaxTokens           int           `json:"max_tokens"`
	MaxCompletionTokens int           `json:"max_completion_tokens"`
	Temperature         *float64      `json:"temperature"`
	TopP                *float64      `json:"top_p"`
	Stream              bool          `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice choice `json:"tool_choice"`
	Tools      []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		Function    struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type wireMessage struct {
	Role       string `json:"role"`
	Content    blocks `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   blocks          `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks is a content: a plain string or a list of blocks.
type blocks []block

func (b *blocks) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*b = nil
		if s != "" {
			*b = blocks{{Type: "text", Text: s}}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(b))
}

func (b blocks) text() string {
	var s strings.Builder
	for _, x := range b {
		if x.Type == "text" {
			s.WriteString(x.Text)
		}
	}
	return s.String()
}

// choice is tool_choice: a word, or an object that names a tool.
type choice struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

func (c *choice) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return nil
	}
	type plain choice
	return json.Unmarshal(data, (*plain)(c))
}

func (c choice) force() string { return c.Name + c.Function.Name }
