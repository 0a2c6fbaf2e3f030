package model

import (
	"net/http"
	"strings"
	"sync"
)

// quirks remembers which parameters a model refuses. Servers of one wire style differ: some know no stream_options,
// reasoning models take no temperature and want max_completion_tokens, others no named tool_choice. The first request
// that is refused for one of these is sent again without it; later ones leave it out at once. Safe for concurrent use.
type quirks struct {
	mu      sync.Mutex
	refused map[string]bool // model + "\n" + parameter
}

// optional are the parameters that may be left out, in the order in which a refusal that names several is read: a
// complaint about temperature and top_p together is solved without top_p.
var optional = []string{"stream_options", "top_p", "temperature", "tool_choice", "max_tokens"}

// unsupported are the words that tell "I do not know this parameter" from "this value is out of range".
var unsupported = []string{"unsupported", "not supported", "not support", "not permitted", "unrecognized", "unknown", "unexpected", "extra_forbidden", "extra inputs", "cannot both", "deprecated"}

// learn reports whether a refusal blames a parameter that has not been left out yet, and remembers it.
func (q *quirks) learn(model string, r *refusal) bool {
	if r.Status != http.StatusBadRequest && r.Status != http.StatusUnprocessableEntity || !has(r.text, unsupported...) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range optional {
		if !blames(r, name) || q.refused[model+"\n"+name] {
			continue
		}
		if q.refused == nil {
			q.refused = make(map[string]bool)
		}
		q.refused[model+"\n"+name] = true
		return true
	}
	return false
}

// blames reports whether the refusal is about a parameter. "max_tokens" is only blamed together with the name that
// replaces it, because every complaint about length mentions it.
func blames(r *refusal, name string) bool {
	if name == "max_tokens" {
		return strings.Contains(r.text, "max_completion_tokens")
	}
	return r.Param == name || r.Param == "" && strings.Contains(r.text, name)
}

// refuses reports whether a parameter has to be left out.
func (q *quirks) refuses(model, name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refused[model+"\n"+name]
}
