package secret

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// lane lets one caller at a time through, whose calls run in goroutines of their own. A caller may leave a call behind;
// the lane stays taken until the call itself has returned, so at most one goroutine can ever be stranded. No lock is held while
// a call runs.
type lane struct {
	slot chan struct{} // holds one element while taken

	mu       sync.Mutex
	turn     uint64        // of the present holder
	late     bool          // the present holder has outlived its limit
	changed  chan struct{} // closed and replaced when late changes
	refusals uint64        // how often a person has refused
	refusal  error         // the last such error
}

func newLane() *lane {
	return &lane{slot: make(chan struct{}, 1), changed: make(chan struct{})}
}

// enter waits until the lane is free or ctx ends. Once the call ahead is late, it waits for patience at most and then
// returns busy. The holder must call leave.
func (l *lane) enter(ctx context.Context, patience time.Duration) (turn uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var timer *time.Timer
	var expired <-chan time.Time
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		late, changed := l.state()
		switch {
		case !late:
			timer, expired = stopped(timer), nil
		case timer == nil:
			timer = time.NewTimer(patience)
			expired = timer.C
		}
		select {
		case l.slot <- struct{}{}:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.turn++
			return l.turn, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-expired:
			return 0, busy(patience)
		case <-changed:
		}
	}
}

func stopped(t *time.Timer) *time.Timer {
	if t != nil {
		t.Stop()
	}
	return nil
}

func (l *lane) state() (late bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late, l.changed
}

func (l *lane) setLate(turn uint64, late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != turn || l.late == late {
		return
	}
	l.late = late
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lane) leave(turn uint64) {
	l.setLate(turn, false)
	<-l.slot
}

// step calls f in a goroutine for the holder of turn and waits until it returns, limit is over (0: none) or ctx ends. If
// the caller still holds the lane afterwards, held is true. Otherwise f is still running and leaves the lane itself;
// once limit is over, the lane counts as late. A panic in f becomes an error.
func (l *lane) step(ctx context.Context, turn uint64, limit time.Duration, f func() (string, error)) (key string, held bool, err error) {
	s := &step{answered: make(chan struct{})}
	var expired <-chan time.Time
	var late *time.Timer
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
		late = time.AfterFunc(limit, func() { l.setLate(turn, true) })
	}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.err = fmt.Errorf("the code that keeps credentials panicked: %v", p)
			}
			stopped(late)
			if s.finish() {
				l.leave(turn)
			}
		}()
		s.key, s.err = f()
	}()
	select {
	case <-s.answered:
	case <-expired:
		err = callTimeout(limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && s.abandon() {
		return "", false, err
	}
	return s.key, true, s.err
}

// step is one call and the question who leaves the lane after it: whoever comes last.
type step struct {
	answered chan struct{}
	key      string
	err      error // both set before answered is closed

	mu         sync.Mutex
	done, gone bool
}

// finish is called when the work is done and says whether the caller has gone.
func (s *step) finish() (gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	close(s.answered)
	return s.gone
}

// abandon is called when the caller wants to go and says whether it may, because there is no answer yet.
func (s *step) abandon() (gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = !s.done
	return s.gone
}

// seen is taken before waiting for the lane, refusedSince after: a refusal in between answered this caller too.
func (l *lane) seen() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusals
}

func (l *lane) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals++
	l.refusal = err
}

func (l *lane) refusedSince(seen uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals == seen {
		return nil
	}
	return l.refusal
}
