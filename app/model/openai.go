package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
	"github.com/openai/openai-go/shared"

	"ionclaw-tray/app/session"
)

// openAI speaks OpenAI chat completions (https://platform.openai.com/docs/api-reference/chat), the style that most
// providers and all local servers understand.
type openAI struct{ *endpoint }

var (
	_ Provider = openAI{}
	_ Lister   = openAI{}
)

// client makes a client that knows only our configuration; the library's own constructor would also read
// OPENAI_API_KEY, OPENAI_BASE_URL and others.
func (p openAI) client(d doer) openai.Client {
	opts := []option.RequestOption{option.WithBaseURL(strings.TrimRight(p.cfg.BaseURL, "/") + "/"), option.WithHTTPClient(d), option.WithMaxRetries(0)}
	if d.key != "" {
		opts = append(opts, option.WithAPIKey(d.key))
	}
	return openai.Client{Options: opts[:len(opts):len(opts)]}
}

// Stream implements Provider.
func (p openAI) Stream(ctx context.Context, req Request, emit func(Chunk)) (Response, error) {
	a := &openAIAnswer{answer: answer{emit: emit}}
	err := p.run(ctx, exchange{
		model: req.Model,
		post: func(ctx context.Context, d doer, into **http.Response) error {
			client := p.client(d)
			return client.Post(ctx, "chat/completions", p.params(req), into, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
		},
		handle: a.handle,
	})
	return a.response(), err
}

func (p openAI) params(req Request) openai.ChatCompletionNewParams {
	system, history := wellFormed(req.Messages)
	out := openai.ChatCompletionNewParams{Model: req.Model}
	if s := join(req.System, system); s != "" {
		out.Messages = append(out.Messages, openai.SystemMessage(s))
	}
	ids := p.ids()
	for _, m := range history {
		switch m.Role {
		case session.RoleUser:
			out.Messages = append(out.Messages, openai.UserMessage(m.Text))
		case session.RoleTool:
			text := m.Text
			if m.ToolError {
				text = "Error: " + text // the style has no flag for it
			}
			out.Messages = append(out.Messages, openai.ToolMessage(text, wireID(m.ToolCallID, ids)))
		case session.RoleAssistant:
			out.Messages = append(out.Messages, openAIAssistant(m, ids))
		}
	}
	for _, t := range req.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema(t.InputSchema)}
		if t.Description != "" {
			f.Description = openai.String(t.Description)
		}
		out.Tools = append(out.Tools, openai.ChatCompletionToolParam{Function: f})
	}
	if req.ForceTool != "" && !p.quirks.refuses(req.Model, "tool_choice") {
		out.ToolChoice = openai.ChatCompletionToolChoiceOptionParamOfChatCompletionNamedToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: req.ForceTool})
	}
	if v := req.Params.Temperature; v != nil && !p.quirks.refuses(req.Model, "temperature") {
		out.Temperature = openai.Float(*v)
	}
	if v := req.Params.TopP; v != nil && !p.quirks.refuses(req.Model, "top_p") {
		out.TopP = openai.Float(*v)
	}
	if n := req.Params.MaxTokens; n > 0 {
		if p.quirks.refuses(req.Model, "max_tokens") {
			out.MaxCompletionTokens = openai.Int(int64(n))
		} else {
			out.MaxTokens = openai.Int(int64(n))
		}
	}
	if !p.quirks.refuses(req.Model, "stream_options") {
		out.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	return out
}

func openAIAssistant(m Message, ids *regexp.Regexp) openai.ChatCompletionMessageParamUnion {
	var a openai.ChatCompletionAssistantMessageParam
	if m.Text != "" {
		a.Content.OfString = openai.String(m.Text)
	}
	for _, c := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallParam{
			ID:       wireID(c.ID, ids),
			Function: openai.ChatCompletionMessageToolCallFunctionParam{Name: c.Name, Arguments: string(callArguments(c))},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// ids is the form of tool call ids that the provider accepts.
func (p openAI) ids() *regexp.Regexp {
	if u, err := url.Parse(p.cfg.BaseURL); err == nil && strings.HasSuffix(u.Hostname(), "mistral.ai") {
		return mistralID
	}
	return anyID
}

// openAIAnswer collects the chunks of one answer.
type openAIAnswer struct {
	answer
	current map[int64]*call // by the index of the provider
}

func (a *openAIAnswer) handle(ev event) (progress, error) {
	if len(ev.data) == 0 {
		return going, a.write("")
	}
	if strings.HasPrefix(string(ev.data[:min(len(ev.data), 6)]), "[DONE]") {
		if a.filtered && a.empty() {
			return going, errFiltered
		}
		return ended, nil
	}
	var chunk openai.ChatCompletionChunk
	if err := json.Unmarshal(ev.data, &chunk); err != nil {
		return going, fmt.Errorf("%w: %w", errNoStream, err)
	}
	if e := chunk.JSON.ExtraFields["error"].Raw(); (e != "" && e != "null") || ev.name == "error" {
		return going, parseRefusal(ev.data, "")
	}
	if chunk.JSON.Usage.Valid() {
		// Some servers repeat growing counts, so the last one is the truth, not the sum.
		u := chunk.Usage
		cached := min(u.PromptTokensDetails.CachedTokens, u.PromptTokens)
		a.usage = session.Usage{Input: u.PromptTokens - cached, Output: u.CompletionTokens, CacheRead: cached}
	}
	state := going
	var text string
	for _, c := range chunk.Choices {
		if c.Index != 0 {
			continue
		}
		if raw := c.Delta.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
			text += textBlocks(raw) // the library would give the list as text
		} else {
			text += c.Delta.Content
		}
		text += c.Delta.Refusal
		for _, t := range c.Delta.ToolCalls {
			if err := a.call(t); err != nil {
				return going, err
			}
		}
		switch c.FinishReason {
		case "":
			continue
		case "length":
			a.truncated = true
		case "content_filter":
			a.filtered = true
		}
		state = complete
	}
	if err := a.write(text); err != nil {
		return going, err
	}
	if state == complete && a.filtered && a.empty() {
		return going, errFiltered
	}
	return state, nil
}

// call adds a piece of a tool call. Providers that leave the index out, or always send 0, are understood too: a new id
// with a new name begins a new call.
func (a *openAIAnswer) call(t openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	if a.current == nil {
		a.current = make(map[int64]*call)
	}
	c := a.current[t.Index]
	if c == nil || (t.ID != "" && c.id != "" && t.ID != c.id && t.Function.Name != "") {
		c = &call{}
		a.current[t.Index] = c
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	args := t.Function.Arguments
	if raw := t.Function.JSON.Arguments.Raw(); strings.HasPrefix(raw, "{") {
		args = raw // an object where a string should be
	}
	c.args.WriteString(args)
	return a.grow(len(args))
}

// textBlocks is the text of a content that is a list of blocks, as some reasoning models send it.
func textBlocks(raw string) string {
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal([]byte(raw), &list) != nil {
		return ""
	}
	var text strings.Builder
	for _, b := range list {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	return text.String()
}
