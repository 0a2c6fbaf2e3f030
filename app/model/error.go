package model

import (
	"fmt"
	"strings"
	"time"
)

// Class says what kind of failure a request met. Callers decide by it; people read the sentence of the Error.
type Class string

// The classes of failures.
const (
	HostNotFound      Class = "host_not_found"
	ConnectionRefused Class = "connection_refused"
	Authentication    Class = "authentication"
	ModelNotFound     Class = "model_not_found"
	RateLimited       Class = "rate_limited"
	Billing           Class = "billing"
	ContextOverflow   Class = "context_overflow"
	Timeout           Class = "timeout"
	Overloaded        Class = "overloaded"
	BadRequest        Class = "bad_request"
	Unknown           Class = "unknown"
)

// words is the class in words for people.
func (c Class) words() string { return strings.ReplaceAll(string(c), "_", " ") }

// Error is a failed request. Its text is for people: it names provider, model and the next step, and holds nothing
// that the provider wrote.
type Error struct {
	Class    Class
	Model    string // "provider/name"
	Provider string
	// Err is the cause, possibly with the provider's own words. It is for errors.Is, errors.As and the log, never for
	// people or storage.
	Err error
	// RetryAfter is how long the provider asked to wait; 0 when it did not say.
	RetryAfter time.Duration
	// Fallbacks are the failures of the models that were tried after this one.
	Fallbacks []*Error

	detail  string // the sentence, where the one of the class would be too vague
	noRetry bool   // a failure that took so long that trying again helps nobody
}

// Error returns the sentence for people.
func (e *Error) Error() string {
	s := e.sentence()
	if len(e.Fallbacks) == 0 {
		return s
	}
	var failed []string
	for _, f := range e.Fallbacks {
		failed = append(failed, fmt.Sprintf("%s (%s)", f.Model, f.Class.words()))
	}
	return s + " The fallbacks failed too: " + strings.Join(failed, ", ") + "."
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Transient reports whether the same request may well succeed a moment later. A refused connection counts: a local
// model server that restarts is the usual reason, and asking again costs little. A host that is not found does not.
func (e *Error) Transient() bool {
	switch e.Class {
	case RateLimited, Overloaded, Timeout, ConnectionRefused:
		return !e.noRetry
	}
	return false
}

func (e *Error) sentence() string {
	if e.detail != "" {
		return e.detail
	}
	p, m := e.Provider, e.Model
	switch e.Class {
	case HostNotFound:
		return fmt.Sprintf("Could not connect to provider '%s': the host was not found. Please check that the provider's base_url is correct and the service is reachable. (model: %s)", p, m)
	case ConnectionRefused:
		return fmt.Sprintf("Could not connect to provider '%s': the connection was refused. Please check that the service is running and that the provider's base_url has the right port. (model: %s)", p, m)
	case Authentication:
		return fmt.Sprintf("Authentication failed for model '%s'. Please check that the API key is valid and has the required permissions.", m)
	case ModelNotFound:
		return fmt.Sprintf("Model '%s' was not found by the provider. Please check the model name in the agent configuration.", m)
	case RateLimited:
		when := "Please wait a moment and try again"
		if e.RetryAfter > time.Second {
			when = "Please try again in " + e.RetryAfter.Round(time.Second).String()
		}
		return fmt.Sprintf("Provider '%s' limits how often model '%s' may be used. %s, or add fallbacks to the agent.", p, m, when)
	case Billing:
		return fmt.Sprintf("Provider '%s' refused model '%s' because the account has no credit left or its plan does not allow it. Please check the billing page of the provider.", p, m)
	case ContextOverflow:
		return fmt.Sprintf("The conversation is too long for model '%s'. Please start a new chat, lower the agent's max_history, or choose a model with a larger context window.", m)
	case Timeout:
		return fmt.Sprintf("Provider '%s' did not answer in time. Please check that the service is reachable and try again. (model: %s)", p, m)
	case Overloaded:
		return fmt.Sprintf("Provider '%s' is overloaded or temporarily unavailable. Please try again in a moment, or add fallbacks to the agent. (model: %s)", p, m)
	case BadRequest:
		return fmt.Sprintf("Provider '%s' rejected the request for model '%s'. Please check the agent's model name, params and tools; the log at level debug has the provider's answer.", p, m)
	}
	return fmt.Sprintf("The request to model '%s' of provider '%s' failed unexpectedly. Please try again; the log at level debug has the details.", m, p)
}
