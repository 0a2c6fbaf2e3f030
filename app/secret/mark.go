package secret

import "sync"

// waitMark tells the outside at most once that something waits, and then always that it no longer does. The callback
// runs under its lock, so that the two can never arrive in the wrong order.
type waitMark struct {
	mu     sync.Mutex
	begun  bool
	closed bool
}

func (m *waitMark) begin(tell func(bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.begun = true
		tell(true)
	}
}

func (m *waitMark) end(tell func(bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.begun {
		tell(false)
	}
}
