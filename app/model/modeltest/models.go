package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
)

// list answers /v1/models. The Anthropic API is told from the other by the version header that it demands.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	style := OpenAI
	if r.Header.Get("Anthropic-Version") != "" {
		style = Anthropic
	}
	if !s.allowed(w, r, style) {
		return
	}
	s.mu.Lock()
	ids := slices.Clone(s.models)
	s.mu.Unlock()
	data := []object{}
	for _, id := range ids {
		if style == Anthropic {
			data = append(data, object{"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"})
		} else {
			data = append(data, object{"object": "model", "id": id, "owned_by": "test"})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object{"object": "list", "data": data, "has_more": false}) //nolint:errcheck // a client that left
}
