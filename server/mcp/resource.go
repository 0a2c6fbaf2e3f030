package mcp

import (
	"context"
	"errors"
)

// Resource describes something a client may read.
type Resource struct {
	URI, Name, Title, Description, MIMEType string
}

// ResourceTemplate describes a family of resources by a URI template (RFC 6570).
type ResourceTemplate struct {
	URITemplate, Name, Title, Description, MIMEType string
}

// ErrNotFound is what [Resources.Read] returns (or wraps) for a URI that names nothing.
var ErrNotFound = errors.New("resource not found")

// Resources is what a server lets clients read. Implementations are safe for concurrent use. List and Templates are
// called once, when the server is made.
type Resources interface {
	List() []Resource
	Templates() []ResourceTemplate
	// Read returns the contents, ErrNotFound, or an error that the caller sees only as "internal error".
	Read(ctx context.Context, uri string) ([]ResourceContents, error)
	// Canonical returns the one name, of all the ways to write uri, with which [Server.ResourceChanged] announces its
	// changes; false when there is nothing to subscribe to.
	Canonical(uri string) (name string, ok bool)
}

// CompleteRequest asks for values of one argument (MCP completion/complete).
type CompleteRequest struct {
	RefType string // "ref/resource" or "ref/prompt"
	Ref     string // the URI template, or the prompt's name
	Name    string // the argument
	Value   string // what the person has typed so far
	// Context holds arguments that are already settled; nil when the client sent none.
	Context map[string]string
}

// Completion is the answer. At most 100 values are sent.
type Completion struct {
	Values  []string
	Total   int // all that match; 0: as many as Values
	HasMore bool
}

// Completer answers completion requests. A reference that it does not know is an [InvalidParams] error.
type Completer interface {
	Complete(ctx context.Context, req CompleteRequest) (Completion, error)
}
