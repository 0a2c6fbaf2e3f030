package mcp

import (
	"cmp"
	"time"
)

// limits are the settings of sessions that may change while the server runs. A value is never changed.
type limits struct {
	ttl         time.Duration
	maxSessions int
	throttle    time.Duration // between writes of a session's last use to the store
	greeting    []byte        // the part of the initialize result that is the same for everyone; it names the ttl
}

func (s *Server) newLimits(ttl time.Duration, maxSessions int) *limits {
	return &limits{ttl: ttl, maxSessions: maxSessions, throttle: min(time.Minute, ttl/10), greeting: s.encodeGreeting(ttl)}
}

// SetLimits changes Options.SessionTTL and Options.MaxSessions of a running server. Zero means the default. Sessions
// that are beyond the new limits end as if these had always been in force; one with a running call stays.
func (s *Server) SetLimits(ttl time.Duration, maxSessions int) {
	ttl, maxSessions = cmp.Or(ttl, DefaultSessionTTL), cmp.Or(maxSessions, DefaultMaxSessions)
	old := s.limits.Load()
	if old.ttl == ttl && old.maxSessions == maxSessions {
		return
	}
	s.limits.Store(s.newLimits(ttl, maxSessions))

	s.table.mu.Lock()
	evicted := s.table.makeRoom(maxSessions + 1)
	if s.table.sweep != nil { // it was set for the old ttl
		s.table.sweep.Stop()
		s.table.sweep = nil
	}
	s.table.mu.Unlock()
	s.endSessions(evicted, ErrCancelled)
	s.forget(evicted)
	s.sweepSessions()
}
