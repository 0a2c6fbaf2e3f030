package agent

import (
	"context"
	"slices"
	"sync"
)

// limiter hands out slots first come, first served. Its size is asked for anew each time, since it is live
// configuration.
type limiter struct {
	size func() int

	mu      sync.Mutex
	used    int
	waiting []chan struct{} // closed when the slot is granted
}

// try takes a slot if one is free and nobody waits for it.
func (l *limiter) try() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 || l.used >= l.size() {
		return false
	}
	l.used++
	return true
}

// acquire waits for a slot, or for ctx.
func (l *limiter) acquire(ctx context.Context) error {
	if l.try() {
		return nil
	}
	granted := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, granted)
	l.grant()
	l.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, granted)
	if i < 0 { // granted at the same moment
		l.used--
		l.grant()
	} else {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return context.Cause(ctx)
}

func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	l.grant()
}

// grant is called with the lock held.
func (l *limiter) grant() {
	for len(l.waiting) > 0 && l.used < l.size() {
		l.used++
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}
