package mcp

import (
	"sync"
	"time"
)

const (
	// replayBudget bounds the memory of all ended streams together; the oldest go first.
	replayBudget = 64 << 20
	// streamOverhead is what a stream costs beside its frames, roughly.
	streamOverhead = 512
)

// replays is the queue of ended streams that are kept for clients which come back. All have the same lifetime, so the
// queue is in order of expiry and one timer serves it.
type replays struct {
	mu     sync.Mutex
	queue  []ended
	bytes  int
	timer  *time.Timer
	closed bool
}

type ended struct {
	session *session
	stream  *stream
	until   time.Time
	bytes   int
}

func (r *replays) retire(sess *session, st *stream, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := ended{session: sess, stream: st, until: now.Add(replayTime), bytes: st.bytes() + streamOverhead}
	if r.closed {
		return
	}
	r.queue = append(r.queue, e)
	r.bytes += e.bytes
	for r.bytes > replayBudget && len(r.queue) > 1 {
		r.drop()
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(replayTime, r.expire)
	}
}

// drop removes the oldest. The caller holds mu.
func (r *replays) drop() {
	e := r.queue[0]
	r.queue[0] = ended{}
	if r.queue = r.queue[1:]; len(r.queue) == 0 {
		r.queue = nil
	}
	r.bytes -= e.bytes
	e.session.dropStream(e.stream.id)
}

func (r *replays) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := time.Now()
	for len(r.queue) > 0 && !r.queue[0].until.After(now) {
		r.drop()
	}
	r.timer = nil
	if len(r.queue) > 0 {
		r.timer = time.AfterFunc(r.queue[0].until.Sub(now), r.expire)
	}
}

// clear forgets everything; with final nothing is kept from then on either.
func (r *replays) clear(final bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = r.closed || final
	for len(r.queue) > 0 {
		r.drop()
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}
