package store

import (
	"fmt"
	"runtime/debug"
	"time"

	"ionclaw-tray/app/event"
)

// write is the only goroutine that changes the database.
func (s *Store) write() {
	batch := make([]*Pending, 0, MaxBatch)
	full := false // the last commit left some behind: they have waited long enough
	for first := range s.ops {
		batch = append(batch[:0], first)
		if !full {
			batch = s.collect(batch)
		}
		batch, full = s.drain(batch)
		s.commitBatch(batch)
		clear(batch)
	}
}

// collect waits until it is time to commit: MaxDelay after the first write, when someone waits, when the batch is
// full, or when the store closes.
func (s *Store) collect(batch []*Pending) []*Pending {
	timer := time.NewTimer(MaxDelay)
	defer timer.Stop()
	for len(batch) < MaxBatch {
		select {
		case p, ok := <-s.ops:
			if !ok {
				return batch
			}
			batch = append(batch, p)
			continue
		case <-s.urgent:
		case <-timer.C:
		case <-s.life.Done():
		}
		return batch
	}
	return batch
}

// drain adds what is queued at this moment and reports whether the batch is full.
func (s *Store) drain(batch []*Pending) ([]*Pending, bool) {
	for len(batch) < MaxBatch {
		select {
		case p, ok := <-s.ops:
			if ok {
				batch = append(batch, p)
				continue
			}
		default:
		}
		return batch, false
	}
	return batch, true
}

// commitBatch brings the writes of a batch to disk in one transaction and tells each how it went. A write that fails
// half-way is taken out and the others are applied again without it.
func (s *Store) commitBatch(batch []*Pending) {
	var size int64
	for _, p := range batch {
		p.taken.Store(true)
		size += p.size
	}
	defer s.bytes.Release(size)

	live := append([]*Pending(nil), batch...)
	for len(live) > 0 {
		r := s.attempt(live)
		if r.bad >= 0 {
			live[r.bad].finish(live[r.bad].result)
			live = append(live[:r.bad], live[r.bad+1:]...)
			continue
		}
		if r.tried {
			s.setErr(r.err)
		}
		if r.err != nil {
			s.opt.Log.Error("writing to the database failed", "writes", len(live), "err", r.err)
		}
		for _, p := range live {
			if p.result == nil {
				p.result = r.err
			}
			p.finish(p.result)
		}
		if r.err == nil && len(r.events) > 0 {
			s.events <- r.events
		}
		return
	}
}

// outcome is how an attempt to commit ended.
type outcome struct {
	bad    int // index of a write that left the transaction in a state that cannot be kept, or -1
	err    error
	tried  bool // there was something to commit
	events []event.Event
}

// attempt applies the writes in one transaction and commits it.
func (s *Store) attempt(live []*Pending) (r outcome) {
	r.bad = -1
	if s.broken {
		r.err, r.tried = fmt.Errorf("writing to the database: %w; restart the program", ErrDamaged), true
		return r
	}
	defer guard(&r.err, func() { s.broken, r.bad, r.tried = true, -1, true })()
	tx, err := s.db.Begin(true)
	if err != nil {
		r.err, r.tried = fmt.Errorf("writing to the database: %w", err), true
		return r
	}
	c := &change{tx: tx, store: s}
	for i, p := range live {
		c.wrote = false
		mark := len(c.events)
		if p.result = applySafely(p, c); p.result != nil {
			c.events = c.events[:mark]
			if c.wrote {
				_ = tx.Rollback()
				r.bad = i
				return r
			}
		}
		r.tried = r.tried || c.wrote
	}
	if !r.tried {
		_ = tx.Rollback()
		return r
	}
	if err = c.finish(); err == nil {
		err = s.opt.commit(tx)
	}
	if err != nil {
		_ = tx.Rollback() // without effect where the commit did it
		r.err = fmt.Errorf("writing to the database: %w", err)
		return r
	}
	s.marked = true
	r.events = c.events
	return r
}

// applySafely keeps a panic, of a bug or of a damaged page, to the write that it happened in.
func applySafely(p *Pending, c *change) (err error) {
	defer guard(&err, func() { c.wrote = true })()
	return p.apply(c)
}

// guard turns panics of bbolt and faults in its memory map into ErrDamaged. Use: defer guard(&err, then)().
func guard(err *error, then func()) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, p)
			if then != nil {
				then()
			}
		}
	}
}
