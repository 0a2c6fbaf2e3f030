package mcp

import (
	"context"
	"encoding/json"
	"fmt"
)

// Tool is something a client may call. It must not be changed once a server knows it.
type Tool struct {
	Name         string // [A-Za-z0-9_-], unique
	Title        string
	Description  string
	InputSchema  json.RawMessage // JSON Schema of type object; nil: an object without members
	OutputSchema json.RawMessage // JSON Schema of StructuredContent, or nil
	Annotations  Annotations

	// Handle does the work in a goroutine of its own. The arguments have passed the input schema's required, type, enum
	// and range rules. It must return soon after ctx ends; context.Cause then says why (ErrCancelled, ErrIdle,
	// ErrStopped). A client that goes away does not end ctx. An error from [InvalidParams] is the caller's mistake;
	// any other is a bug, which the caller sees only as "internal error". Expected failures are results with IsError.
	Handle func(ctx context.Context, call *Call) (*Result, error)
}

// Annotations are hints for the person who approves a call. Hints that do not apply stay nil.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Tools is the set of tools a server offers. List is called when the server is made and after
// [Server.ToolsChanged]; its order is the order clients see. Lookup is called for each call, concurrently.
type Tools interface {
	List() []*Tool
	Lookup(name string) (*Tool, bool)
}

// ToolSet is a fixed list of tools.
type ToolSet struct {
	list   []*Tool
	byName map[string]*Tool
}

var _ Tools = (*ToolSet)(nil)

// NewToolSet makes a set; of two tools with one name the first counts.
func NewToolSet(tools ...*Tool) *ToolSet {
	s := &ToolSet{byName: make(map[string]*Tool, len(tools))}
	for _, t := range tools {
		if _, taken := s.byName[t.Name]; !taken {
			s.byName[t.Name] = t
			s.list = append(s.list, t)
		}
	}
	return s
}

// List implements [Tools].
func (s *ToolSet) List() []*Tool { return s.list }

// Lookup implements [Tools].
func (s *ToolSet) Lookup(name string) (*Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// emptySchema is what a tool without a schema takes.
const emptySchema = `{"type":"object","additionalProperties":false}`

func encodeTool(t *Tool) ([]byte, error) {
	input := t.InputSchema
	if input == nil {
		input = json.RawMessage(emptySchema)
	}
	raw, err := json.Marshal(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  Annotations     `json:"annotations,omitzero"`
	}{t.Name, t.Title, t.Description, input, t.OutputSchema, t.Annotations})
	if err != nil {
		return nil, fmt.Errorf("encoding tool %s: %w", t.Name, err)
	}
	return raw, nil
}

// ParamError says that a request's params are missing something or have the wrong shape. The client sees it as
// JSON-RPC error -32602 with this text.
type ParamError struct {
	Param  string // name of the parameter
	Reason string
}

func (e *ParamError) Error() string { return fmt.Sprintf("parameter %q: %s", e.Param, e.Reason) }

// InvalidParams makes a [ParamError].
func InvalidParams(param, reason string) error { return &ParamError{Param: param, Reason: reason} }
