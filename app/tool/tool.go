// Package tool holds what agents may call. A tool is a name, a schema and a function; an agent gets the tools that
// its configuration names, and nothing else.
package tool

import (
	"context"
	"encoding/json"
)

// Spec describes a tool to a model.
type Spec struct {
	Name        string          `json:"name"` // [A-Za-z0-9_-]{1,64}, what model APIs accept
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema of type object
}

// Result is what a call gave, as text for the model. IsError marks a failure that the model may react to.
type Result struct {
	Text    string
	IsError bool
}

// Call is one invocation.
type Call struct {
	Arguments json.RawMessage // a JSON object, never empty
	// Progress reports what the tool is doing; it reaches the person who waits. Safe for concurrent use, never nil.
	Progress func(text string)
}

// Tool is something an agent may call. Implementations are safe for concurrent use, stop when ctx ends, and report
// failures that the model should see as a Result with IsError; an error or a panic is the same, worded by the caller.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, call Call) (Result, error)
}
