package event

import (
	"sync"
	"sync/atomic"
	"time"

	"ionclaw-tray/app/session"
)

const (
	// MaxWait is how long a publisher waits for one slow subscriber with an event that is not lossy. A subscriber
	// that let it pass is not waited for again until half of its buffer is free: one that is merely slow must not
	// hold up every event of the program.
	MaxWait = 250 * time.Millisecond
	// KeptEvents is how many events that are not lossy Since can replay.
	KeptEvents = 1024
)

// Envelope is an event with its place in the stream.
type Envelope struct {
	Seq   uint64       `json:"seq"` // strictly increasing within one run of the program
	At    session.Time `json:"at"`
	Event Event        `json:"event"`
}

// Bus hands events to its subscribers, in the order of Publish. Safe for concurrent use.
type Bus struct {
	publish sync.Mutex // serialises Publish, so that all subscribers see one order

	mu   sync.Mutex // guards what follows; never held while waiting
	seq  uint64
	subs map[*Subscription]struct{}
	kept []Envelope // ring, oldest at start
	from int
}

// NewBus makes a bus without subscribers.
func NewBus() *Bus { return &Bus{subs: make(map[*Subscription]struct{})} }

// Publish delivers the event to every subscriber. It returns after at most MaxWait for each subscriber that is slow.
func (b *Bus) Publish(e Event) {
	b.publish.Lock()
	defer b.publish.Unlock()

	b.mu.Lock()
	b.seq++
	env := Envelope{Seq: b.seq, At: session.At(time.Now()), Event: e}
	if !e.Lossy() {
		b.keep(env)
	}
	subs := make([]*Subscription, 0, len(b.subs))
	for s := range b.subs {
		subs = append(subs, s)
	}
	b.mu.Unlock()

	for _, s := range subs {
		s.deliver(env)
	}
}

func (b *Bus) keep(env Envelope) {
	if len(b.kept) < KeptEvents {
		b.kept = append(b.kept, env)
		return
	}
	b.kept[b.from] = env
	b.from = (b.from + 1) % KeptEvents
}

// Since returns the kept events after the given sequence number, oldest first. It reports false when some that
// followed it are no longer kept: the caller then reads the whole state again.
func (b *Bus) Since(seq uint64) ([]Envelope, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq > b.seq {
		return nil, false // a number of another run
	}
	ordered := append(append([]Envelope(nil), b.kept[b.from:]...), b.kept[:b.from]...)
	complete := len(b.kept) < KeptEvents || ordered[0].Seq <= seq+1
	for i, env := range ordered {
		if env.Seq > seq {
			return ordered[i:], complete
		}
	}
	return nil, complete
}

// Subscribe starts a subscription with room for buffer waiting events (at least 16).
func (b *Bus) Subscribe(buffer int) *Subscription {
	s := &Subscription{bus: b, c: make(chan Envelope, max(buffer, 16)), done: make(chan struct{})}
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	return s
}

// Subscription is one watcher of a bus.
type Subscription struct {
	bus     *Bus
	c       chan Envelope
	done    chan struct{}
	once    sync.Once
	lagging bool // used by Publish only
	dropped atomic.Uint64
}

// C delivers the events. It is never closed: select on Done as well.
func (s *Subscription) C() <-chan Envelope { return s.c }

// Done is closed by Close.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Dropped counts the events that this subscription missed.
func (s *Subscription) Dropped() uint64 { return s.dropped.Load() }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.bus.mu.Lock()
		delete(s.bus.subs, s)
		s.bus.mu.Unlock()
		close(s.done)
	})
}

func (s *Subscription) deliver(env Envelope) {
	if env.Event.Lossy() && len(s.c) >= cap(s.c)/2 {
		s.dropped.Add(1) // the second half is kept free for what must not be missed
		return
	}
	select {
	case s.c <- env:
		s.lagging = s.lagging && len(s.c) > cap(s.c)/2
		return
	default:
	}
	if env.Event.Lossy() || s.lagging {
		s.dropped.Add(1)
		return
	}
	t := time.NewTimer(MaxWait)
	defer t.Stop()
	select {
	case s.c <- env:
	case <-s.done:
	case <-t.C:
		s.lagging = true
		s.dropped.Add(1)
	}
}
