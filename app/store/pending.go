package store

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Pending is a write that is queued or done.
type Pending struct {
	apply func(*change) error
	size  int64
	urge  func()

	taken  atomic.Bool // it is part of a commit that has begun
	result error       // of this write alone; used by the writer
	err    error
	done   chan struct{}
}

// Wait asks for the commit and waits for it. A nil error means that the write is on disk. When ctx ends first, its
// error is returned and the write goes on. A caller that does not need to know need not wait.
func (p *Pending) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	if !p.taken.Load() {
		p.urge()
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the database: %w", context.Cause(ctx))
	}
}

func (p *Pending) finish(err error) {
	p.err = err
	close(p.done)
}

// failed is a write that did not get as far as the queue.
func failed(err error) *Pending {
	p := &Pending{done: make(chan struct{})}
	p.finish(err)
	return p
}

// writeCost is what a queued write holds beside its values, in bytes.
const writeCost = 512

// enqueue appends a write to the queue. It blocks while the queue is full, until ctx ends or the store closes.
func (s *Store) enqueue(ctx context.Context, size int, apply func(*change) error) *Pending {
	if s.readOnly {
		return failed(ErrReadOnly)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return failed(ErrClosed)
	}
	s.senders.Add(1)
	s.mu.Unlock()
	defer s.senders.Done()

	p := &Pending{apply: apply, size: min(int64(size)+writeCost, MaxQueuedBytes), urge: s.urge, done: make(chan struct{})}
	if err := s.reserve(ctx, p.size); err != nil {
		return failed(err)
	}
	select {
	case s.ops <- p:
		return p
	case <-ctx.Done():
	case <-s.life.Done():
	}
	s.bytes.Release(p.size)
	if s.life.Err() != nil {
		return failed(ErrClosed)
	}
	return failed(fmt.Errorf("waiting for room in the database's write queue (%d writes): %w", MaxQueued, context.Cause(ctx)))
}

// reserve waits for room for the bytes of a write.
func (s *Store) reserve(ctx context.Context, size int64) error {
	if s.bytes.TryAcquire(size) {
		return nil
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if s.bytes.Acquire(both, size) == nil {
		return nil
	}
	if s.life.Err() != nil {
		return ErrClosed
	}
	return fmt.Errorf("waiting for room in the database's write queue (%d bytes): %w", int64(MaxQueuedBytes), context.Cause(ctx))
}

// urge makes the writer commit what is queued now. A mark that is already set has not been seen yet, so it serves
// this caller too.
func (s *Store) urge() {
	select {
	case s.urgent <- struct{}{}:
	default:
	}
}
