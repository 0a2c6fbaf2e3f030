package mcp

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// sweepPause is the least time between two sweeps.
const sweepPause = time.Second

// lingerShare is the part of a session's lifetime after which the store hears again that its stream is open.
const lingerShare = 10

// table holds the sessions that live, with one timer for all of them.
type table struct {
	mu    sync.RWMutex
	byID  map[string]*session
	sweep *time.Timer // nil while the table is empty
}

func (t *table) get(id string) *session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

func (t *table) all() []*session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*session, 0, len(t.byID))
	for _, sess := range t.byID {
		list = append(list, sess)
	}
	return list
}

// removeIf takes sessions out. They still have to be ended, without a lock.
func (t *table) removeIf(match func(*session) bool) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*session
	for id, sess := range t.byID {
		if match(sess) {
			delete(t.byID, id)
			out = append(out, sess)
		}
	}
	t.tidy()
	return out
}

func (t *table) removeAll() []*session {
	return t.removeIf(func(*session) bool { return true })
}

// tidy gives back the memory of an emptied map and stops the timer. The caller holds mu.
func (t *table) tidy() {
	if len(t.byID) > 0 {
		return
	}
	t.byID = nil
	if t.sweep != nil {
		t.sweep.Stop()
		t.sweep = nil
	}
}

// oldest returns the session that was idle for longest: one that nothing uses, else one that only listens. The caller
// holds mu.
func (t *table) oldest() *session {
	var best *session
	var bestRank bool
	for _, sess := range t.byID {
		idle := sess.inUse.Load() == 0
		if !idle && sess.isCalling() {
			continue
		}
		if best == nil || idle && !bestRank || idle == bestRank && sess.seen.Load() < best.seen.Load() {
			best, bestRank = sess, idle
		}
	}
	return best
}

// makeRoom takes sessions out until there are fewer than max; those with a running call stay. The caller holds mu and
// ends the others without it.
func (t *table) makeRoom(max int) (evicted []*session) {
	for len(t.byID) >= max {
		old := t.oldest()
		if old == nil {
			break
		}
		delete(t.byID, old.id)
		evicted = append(evicted, old)
	}
	return evicted
}

// createSession makes room if needed. It returns nil when every session has a running call.
func (s *Server) createSession(version, name, clientVersion, credential string) *session {
	now := time.Now()
	sess := newSession(SessionRecord{ID: uuid.NewString(), Version: version, ClientName: name,
		ClientVersion: clientVersion, Created: now, LastUsed: now, Credential: credential}, s.canonical)
	sess.seen.Store(int64(s.clock()))
	lim := s.limits.Load()
	s.table.mu.Lock()
	evicted := s.table.makeRoom(lim.maxSessions)
	full := len(s.table.byID) >= lim.maxSessions
	if !full {
		if s.table.byID == nil {
			s.table.byID = make(map[string]*session)
		}
		s.table.byID[sess.id] = sess
		s.armSweep(lim.ttl)
	}
	s.table.mu.Unlock()

	if !full {
		s.put(sess)
	}
	s.endSessions(evicted, ErrCancelled)
	s.forget(evicted)
	if full {
		return nil
	}
	s.opt.OnChange()
	return sess
}

// loadSessions takes up what an earlier process left.
func (s *Server) loadSessions() {
	records, err := s.opt.Sessions.Load()
	if err != nil {
		s.log.Error("starting without the stored sessions", slog.Any("error", err))
		return
	}
	slices.SortFunc(records, func(a, b SessionRecord) int { return b.LastUsed.Compare(a.LastUsed) })
	now, lim := time.Now(), s.limits.Load()
	var stale []string
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.table.byID = make(map[string]*session, len(records))
	for _, r := range records {
		if now.Sub(r.LastUsed) >= lim.ttl || len(s.table.byID) >= lim.maxSessions ||
			!slices.Contains(revisions, r.Version) {
			stale = append(stale, r.ID)
			continue
		}
		sess := newSession(r, s.canonical)
		sess.seen.Store(int64(s.clock() - max(now.Sub(r.LastUsed), 0)))
		s.table.byID[r.ID] = sess
	}
	if len(stale) > 0 {
		s.opt.Sessions.Delete(stale...)
	}
	if len(s.table.byID) > 0 {
		s.armSweep(sweepPause)
	}
	s.table.tidy()
}

// armSweep starts the timer unless it runs. The caller holds table.mu.
func (s *Server) armSweep(wait time.Duration) {
	if s.table.sweep == nil && !s.closed.Load() {
		s.table.sweep = time.AfterFunc(wait, s.sweepSessions)
	}
}

// sweepSessions removes what was idle for too long, and sleeps until the next session can be. The time that a laptop
// sleeps does not count, nor do steps of the wall clock: waking up must not end all sessions at once.
func (s *Server) sweepSessions() {
	now, ttl := s.clock(), s.limits.Load().ttl
	next := ttl
	ended := s.table.removeIf(func(sess *session) bool {
		if sess.inUse.Load() > 0 {
			return false
		}
		rest := ttl - (now - time.Duration(sess.seen.Load()))
		next = min(next, max(rest, 0))
		return rest <= 0
	})
	s.endSessions(ended, ErrCancelled)
	s.forget(ended)

	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.table.sweep = nil
	if len(s.table.byID) > 0 {
		s.armSweep(max(next, sweepPause))
	}
}

func (s *Server) forget(sessions []*session) {
	if len(sessions) == 0 {
		return
	}
	ids := make([]string, len(sessions))
	for i, sess := range sessions {
		ids[i] = sess.id
	}
	s.opt.Sessions.Delete(ids...)
}

// touch marks a use. The store hears of it only now and then: a write for each request would be most of its work.
func (s *Server) touch(sess *session, now time.Time) {
	used := now.UnixNano()
	sess.lastUsed.Store(used)
	sess.seen.Store(int64(s.clock()))
	stored := sess.stored.Load()
	if used-stored >= int64(s.limits.Load().throttle) && sess.stored.CompareAndSwap(stored, used) {
		s.put(sess)
	}
}

// linger tells the store now and then that an open GET stream uses a session: after a crash it must not look as if the
// client had been away since its last request.
func (s *Server) linger(sess *session, now time.Time) {
	stored := sess.stored.Load()
	if now.UnixNano()-stored >= int64(s.limits.Load().ttl/lingerShare) && sess.stored.CompareAndSwap(stored, now.UnixNano()) {
		s.put(sess)
	}
}

// put stores a session. Sessions are ended before they are deleted from the store, so a write that comes too late sees
// that it has to be taken back.
func (s *Server) put(sess *session) {
	if s.closed.Load() {
		return
	}
	s.opt.Sessions.Put(sess.record())
	if !sess.alive() && !s.closed.Load() {
		s.opt.Sessions.Delete(sess.id)
	}
}

// removeOne takes one session out, unless somebody else already did.
func (t *table) removeOne(sess *session) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[sess.id] != sess {
		return nil
	}
	delete(t.byID, sess.id)
	t.tidy()
	return []*session{sess}
}
