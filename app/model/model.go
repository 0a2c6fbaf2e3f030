// Package model talks to model providers: one request in, a stream of chunks and one response out.
//
// A model is named "provider/name". Providers speak one of two wire styles (Anthropic Messages, OpenAI chat
// completions) through the vendors' own libraries, or are the built-in offline provider, which is no model and says so.
// Every failure is an *Error of one class with one sentence for people; raw provider text goes to the log only.
// Router adds retries and fallbacks on top. Nothing is retried once text has been delivered.
package model

import (
	"context"
	"encoding/json"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/tool"
)

// Request is one call of a model.
type Request struct {
	Model    string // the provider's own name, without the "provider/" prefix
	System   string
	Messages []Message
	Tools    []tool.Spec
	// ForceTool names a tool the model has to call; "" leaves the choice to it.
	ForceTool string
	Params    Params
}

// Params are the sampling settings of an agent. Nil and zero mean: the provider's default.
type Params struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   int
}

// Message is one entry of the conversation as the model sees it.
type Message struct {
	Role       session.Role // user, assistant or tool
	Text       string
	ToolCalls  []session.ToolCall // role assistant
	ToolCallID string             // role tool
	ToolName   string             // role tool: the name of the tool that was called
	ToolError  bool               // role tool
}

// Chunk is a piece of a response as it arrives. A Chunk with empty Text says only that the model is alive.
type Chunk struct {
	Text string
}

// Response is the whole answer.
type Response struct {
	Text      string
	ToolCalls []session.ToolCall // arguments are always a JSON object
	Usage     session.Usage      // Input does not include cached tokens, in either style
	// Truncated says that the answer ended at the token limit.
	Truncated bool
	// Model is the full name "provider/name" of the model that answered; after a fallback not the one asked for.
	Model string
}

// Provider streams answers of one provider. Implementations are safe for concurrent use. Stream calls emit from one
// goroutine, in order, and not after it has returned. On failure the error is an *Error, or ctx's cause when ctx ended;
// the response then holds what was received.
type Provider interface {
	Stream(ctx context.Context, req Request, emit func(Chunk)) (Response, error)
}

// Lister is implemented by providers that can name their models.
type Lister interface {
	Models(ctx context.Context) ([]string, error)
}

// emptyObject is what stands for the arguments of a call that has none.
var emptyObject = json.RawMessage("{}")
