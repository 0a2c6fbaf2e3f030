package model

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"ionclaw-tray/app/session"
)

// Token limits of an answer where the agent sets none; this style demands a number, and the first models of the
// Claude 3 family refuse more than the lower one.
const (
	defaultMaxTokens = 8192
	olderMaxTokens   = 4096
)

// earlier stands for the beginning of a conversation that was cut off: the style wants the person to speak first.
const earlier = "(The earlier part of this conversation is left out.)"

var olderClaude = regexp.MustCompile(`^claude-3-(opus|sonnet|haiku)-`)

// anthropicStyle speaks Anthropic Messages (https://docs.anthropic.com/en/api/messages).
type anthropicStyle struct{ *endpoint }

var (
	_ Provider = anthropicStyle{}
	_ Lister   = anthropicStyle{}
)

// client makes a client that knows only our configuration; the library's own constructor would also read
// ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL.
func (p anthropicStyle) client(d doer) anthropic.Client {
	// The library adds "v1/…" itself; a base_url that already has it is a habit from the other style.
	base := strings.TrimSuffix(strings.TrimRight(p.cfg.BaseURL, "/"), "/v1") + "/"
	opts := []option.RequestOption{option.WithBaseURL(base), option.WithHTTPClient(d), option.WithMaxRetries(0)}
	if d.key != "" {
		opts = append(opts, option.WithAPIKey(d.key))
	}
	return anthropic.Client{Options: opts}
}

// Stream implements Provider.
func (p anthropicStyle) Stream(ctx context.Context, req Request, emit func(Chunk)) (Response, error) {
	a := &anthropicAnswer{answer: answer{emit: emit}, blocks: make(map[int64]*call)}
	err := p.run(ctx, exchange{
		model: req.Model,
		post: func(ctx context.Context, d doer, into **http.Response) error {
			client := p.client(d)
			return client.Post(ctx, "v1/messages", p.params(req), into, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
		},
		handle: a.handle,
	})
	return a.response(), err
}

func (p anthropicStyle) params(req Request) anthropic.MessageNewParams {
	system, history := wellFormed(req.Messages)
	out := anthropic.MessageNewParams{Model: anthropic.Model(req.Model), MaxTokens: int64(req.Params.MaxTokens)}
	if out.MaxTokens <= 0 {
		out.MaxTokens = defaultMaxTokens
		if olderClaude.MatchString(req.Model) {
			out.MaxTokens = olderMaxTokens
		}
	}
	for _, t := range req.Tools {
		// The whole schema goes out as it is; the library's own fields would drop "$defs" and others.
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema(t.InputSchema))}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	// Cache marks cost nothing where they do not help, and make the repeated part of each step of a turn cheap.
	if s := join(req.System, system); s != "" {
		out.System = []anthropic.TextBlockParam{{Text: s, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	} else if n := len(out.Tools); n > 0 {
		out.Tools[n-1].OfTool.CacheControl = anthropic.NewCacheControlEphemeralParam()
	}
	out.Messages = anthropicMessages(history)
	if req.ForceTool != "" && !p.quirks.refuses(req.Model, "tool_choice") {
		out.ToolChoice = anthropic.ToolChoiceParamOfTool(req.ForceTool)
	}
	if v := req.Params.Temperature; v != nil && !p.quirks.refuses(req.Model, "temperature") {
		out.Temperature = anthropic.Float(*v)
	}
	if v := req.Params.TopP; v != nil && !p.quirks.refuses(req.Model, "top_p") {
		out.TopP = anthropic.Float(*v)
	}
	return out
}

// anthropicMessages converts a well-formed conversation. Results of parallel calls belong into one user message, and
// what the person says next into the same one.
func anthropicMessages(history []Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	add := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	if len(history) > 0 && history[0].Role != session.RoleUser {
		add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(earlier))
	}
	for _, m := range history {
		switch m.Role {
		case session.RoleUser:
			add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(m.Text))
		case session.RoleTool:
			r := anthropic.ToolResultBlockParam{ToolUseID: wireID(m.ToolCallID, anyID)}
			if m.Text != "" {
				r.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: m.Text}}}
			}
			if m.ToolError {
				r.IsError = anthropic.Bool(true)
			}
			add(anthropic.MessageParamRoleUser, anthropic.ContentBlockParamUnion{OfToolResult: &r})
		case session.RoleAssistant:
			var blocks []anthropic.ContentBlockParamUnion
			if strings.TrimSpace(m.Text) != "" {
				blocks = append(blocks, anthropic.NewTextBlock(m.Text))
			}
			for _, c := range m.ToolCalls {
				blocks = append(blocks, anthropic.NewToolUseBlock(wireID(c.ID, anyID), callArguments(c), c.Name))
			}
			add(anthropic.MessageParamRoleAssistant, blocks...)
		}
	}
	if n := len(out); n > 0 {
		markCached(&out[n-1].Content[len(out[n-1].Content)-1])
	}
	return out
}

func markCached(b *anthropic.ContentBlockParamUnion) {
	mark := anthropic.NewCacheControlEphemeralParam()
	switch {
	case b.OfText != nil:
		b.OfText.CacheControl = mark
	case b.OfToolResult != nil:
		b.OfToolResult.CacheControl = mark
	case b.OfToolUse != nil:
		b.OfToolUse.CacheControl = mark
	}
}

// anthropicAnswer collects the events of one answer.
type anthropicAnswer struct {
	answer
	blocks map[int64]*call // tool calls by the index of their block
}

func (a *anthropicAnswer) handle(ev event) (progress, error) {
	if len(ev.data) == 0 {
		return going, a.write("")
	}
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(ev.data, &e); err != nil {
		return going, fmt.Errorf("%w: %w", errNoStream, err)
	}
	state, text := going, ""
	switch e.Type {
	case "error":
		return going, parseRefusal(ev.data, "")
	case "message_start":
		u := e.Message.Usage
		a.usage = session.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
	case "content_block_start":
		text = e.ContentBlock.Text
		if e.ContentBlock.Type == "tool_use" {
			c := &call{id: e.ContentBlock.ID, name: e.ContentBlock.Name, whole: e.ContentBlock.JSON.Input.Raw()}
			a.blocks[e.Index] = c
			a.calls = append(a.calls, c)
		}
	case "content_block_delta":
		text = e.Delta.Text
		if c := a.blocks[e.Index]; c != nil {
			c.args.WriteString(e.Delta.PartialJSON)
			if err := a.grow(len(e.Delta.PartialJSON)); err != nil {
				return going, err
			}
		}
	case "message_delta":
		a.count(e.Usage)
		switch e.Delta.StopReason {
		case "max_tokens", "model_context_window_exceeded":
			a.truncated = true
		case "refusal":
			if a.empty() {
				return going, errFiltered
			}
		}
		if e.Delta.StopReason != "" {
			state = complete
		}
	case "message_stop":
		state = ended
	}
	return state, a.write(text)
}

// count takes the counts of the end of an answer. They are totals; those that are not repeated keep their value.
func (a *anthropicAnswer) count(u anthropic.MessageDeltaUsage) {
	set := func(to *int64, v int64) {
		if v > 0 {
			*to = v
		}
	}
	set(&a.usage.Input, u.InputTokens)
	set(&a.usage.Output, u.OutputTokens)
	set(&a.usage.CacheRead, u.CacheReadInputTokens)
	set(&a.usage.CacheWrite, u.CacheCreationInputTokens)
}
