package secret

import (
	"context"
	"sync"
)

// flights joins callers who ask for the same thing at the same time. The work runs on its own context, which ends
// when the last of them has left.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // callers; guarded by flights.mu
	key     string
	err     error // both set before done is closed
}

func (f *flights) do(ctx context.Context, name string, work func(ctx context.Context) (string, error)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	f.mu.Lock()
	one := f.all[name]
	if one == nil {
		workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		one = &flight{done: make(chan struct{}), cancel: cancel}
		if f.all == nil {
			f.all = map[string]*flight{}
		}
		f.all[name] = one
		go func() {
			defer cancel()
			one.key, one.err = work(workCtx)
			f.mu.Lock()
			if f.all[name] == one {
				delete(f.all, name)
			}
			f.mu.Unlock()
			close(one.done)
		}()
	}
	one.waiting++
	f.mu.Unlock()

	select {
	case <-one.done:
		return one.key, one.err
	case <-ctx.Done():
		f.mu.Lock()
		one.waiting--
		last := one.waiting == 0
		if last && f.all[name] == one {
			delete(f.all, name)
		}
		f.mu.Unlock()
		if last {
			one.cancel()
		}
		return "", ctx.Err()
	}
}

// drop makes later callers ask anew. Called after a change, because a flight may carry the answer from before it.
func (f *flights) drop(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, name)
}
