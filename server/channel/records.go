package channel

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"ionclaw-tray/app/store"
	"ionclaw-tray/server/mcp"
)

// sessionStore is the part of the store that keeps MCP sessions.
type sessionStore interface {
	MCPSessions() (map[string][]byte, error)
	PutMCPSession(id string, data []byte) *store.Pending
	DeleteMCPSessions(ids ...string) *store.Pending
	ClearMCPSessions() *store.Pending
}

// records keeps MCP sessions in the store, so that clients do not notice a restart. Writes are queued there and are
// on disk within moments; one that fails is reported by the store like all others.
type records struct {
	store sessionStore
	log   *slog.Logger
	// stale: a stop has cleared what is stored. That may be queued still, or have failed, so Load does not look.
	stale bool
}

var _ mcp.SessionStore = records{}

// Load implements mcp.SessionStore. A record that cannot be read is dropped: its client initialises again.
func (r records) Load() ([]mcp.SessionRecord, error) {
	if r.stale {
		r.Clear()
		return nil, nil
	}
	raw, err := r.store.MCPSessions()
	if err != nil {
		return nil, fmt.Errorf("reading MCP sessions: %w", err)
	}
	list := make([]mcp.SessionRecord, 0, len(raw))
	for id, data := range raw {
		var rec mcp.SessionRecord
		if err := json.Unmarshal(data, &rec); err != nil || rec.ID != id {
			r.log.Warn("dropping an unreadable MCP session", "session", id, "err", err)
			r.store.DeleteMCPSessions(id)
			continue
		}
		list = append(list, rec)
	}
	return list, nil
}

// Put implements mcp.SessionStore.
func (r records) Put(rec mcp.SessionRecord) {
	data, err := json.Marshal(rec)
	if err != nil {
		r.log.Error("encoding an MCP session failed", "session", rec.ID, "err", err)
		return
	}
	r.store.PutMCPSession(rec.ID, data)
}

// Delete implements mcp.SessionStore.
func (r records) Delete(ids ...string) { r.store.DeleteMCPSessions(ids...) }

// Clear implements mcp.SessionStore.
func (r records) Clear() { r.store.ClearMCPSessions() }
