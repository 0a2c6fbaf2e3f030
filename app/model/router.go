package model

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Router finds the provider of a model and adds retries and fallbacks. It never changes after it was made and is safe
// for concurrent use; a new configuration gets a new router, and connections are shared between them.
type Router struct {
	providers map[string]Provider
	log       *slog.Logger
	pause     pauses
}

// New makes a router for providers. keys reads the key of a credential, for each request anew, so that a rotated key
// works at once. The provider "builtin" is always there.
func New(providers []ProviderConfig, keys KeyFunc, log *slog.Logger) *Router {
	r := &Router{providers: map[string]Provider{OfflineProvider: Offline{}}, log: log, pause: defaultPauses}
	for _, c := range providers {
		e := newEndpoint(c, keys, log)
		if c.Style == StyleAnthropic {
			r.providers[c.Name] = anthropicStyle{e}
		} else {
			r.providers[c.Name] = openAI{e}
		}
	}
	return r
}

// Names are the names of all providers, sorted.
func (r *Router) Names() []string {
	names := make([]string, 0, len(r.providers))
	for n := range r.providers {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Provider finds the provider of a model "provider/name" and returns the model's name without the provider. The error
// is an *Error.
func (r *Router) Provider(fullName string) (Provider, string, error) {
	provider, name, found := strings.Cut(fullName, "/")
	if !found || provider == "" || name == "" {
		return nil, "", &Error{Class: ModelNotFound, Model: fullName, Provider: provider,
			detail: fmt.Sprintf("'%s' is not the name of a model. Please write it as provider/name, for example ollama/llama3.2.", fullName)}
	}
	p, known := r.providers[provider]
	if !known {
		return nil, "", &Error{Class: ModelNotFound, Model: fullName, Provider: provider,
			detail: fmt.Sprintf("Provider '%s' is not configured. Please add it under providers in config.yml, or choose another model for the agent. (model: %s)", provider, fullName)}
	}
	return p, name, nil
}

// Models lists the models of one provider by their full names. The error is an *Error, or ctx's cause.
func (r *Router) Models(ctx context.Context, provider string) ([]string, error) {
	p, _, err := r.Provider(provider + "/*")
	if err != nil {
		return nil, err
	}
	l, ok := p.(Lister)
	if !ok {
		return nil, nil
	}
	names, err := l.Models(ctx)
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		names[i] = provider + "/" + n
	}
	return names, nil
}
