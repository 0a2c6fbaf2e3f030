// Package store keeps chats, their messages, tasks and MCP sessions in one bbolt file.
//
// Writes go one way: a method encodes what it was given and queues it; one goroutine takes what is queued, applies it
// in order in one transaction, and commits; then the waiting Pendings are released and the events go out. A write
// waits for its commit at most MaxDelay; Pending.Wait asks for it at once, and everything queued meanwhile goes along.
// Reads see what is committed, run beside the writer and never wait for it.
//
// Order is by sequence numbers that only grow: of a chat's messages, of the list of chats (a number for each change),
// of tasks (a number for each new one). Clocks are shown, never sorted by.
package store

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sync/semaphore"

	"ionclaw-tray/app/event"
)

// Limits of the write queue.
const (
	// MaxDelay is the longest time between queueing a write and the start of its commit.
	MaxDelay = 50 * time.Millisecond
	// MaxQueued is how many writes may wait; the next one blocks its caller until there is room.
	MaxQueued = 4096
	// MaxQueuedBytes is how many bytes the waiting writes may hold together; a single larger one goes alone.
	MaxQueuedBytes = 64 << 20
	// MaxBatch is how many writes one commit takes.
	MaxBatch = 1024
	// maxEventBatches is how many commits may be ahead of a slow Notify.
	maxEventBatches = 256
)

// Options of Open. The zero value works.
type Options struct {
	// Notify gets the events of each commit, after it and in order, from one goroutine and outside of any
	// transaction. It may read the store; it must not wait for writes, because they may be waiting for it.
	Notify func(event.Event)
	Log    *slog.Logger // default: discard

	now     func() time.Time        // the clock that is shown
	commit  func(tx *bolt.Tx) error // seam for failing commits
	schema  []migration
	compact int64 // CompactAbove
	search  int   // searchBudget
}

func (o Options) withDefaults() Options {
	if o.Notify == nil {
		o.Notify = func(event.Event) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.commit == nil {
		o.commit = (*bolt.Tx).Commit
	}
	if o.schema == nil {
		o.schema = migrations
	}
	if o.search == 0 {
		o.search = searchBudget
	}
	if o.compact == 0 {
		o.compact = CompactAbove
	}
	return o
}

// Store is an open database. All methods are safe for concurrent use.
type Store struct {
	opt       Options
	db        *bolt.DB
	file      *os.File // the descriptor that db uses; it carries the lock
	path      string
	readOnly  bool
	recovered string

	ops    chan *Pending
	urgent chan struct{} // someone waits for a commit
	bytes  *semaphore.Weighted
	events chan []event.Event

	life    context.Context // ends when Close begins
	end     context.CancelFunc
	mu      sync.Mutex // guards closed against senders.Add
	closed  bool
	senders sync.WaitGroup
	done    chan struct{} // the writer and the notifier have ended
	once    sync.Once
	closing error

	marked  bool // used by the writer: this run has taken the mark of a clean end away
	broken  bool // used by the writer, then by Close: bbolt panicked inside a commit; its locks cannot be trusted
	lastErr atomic.Pointer[error]
}

func newStore(path string, o Options, readOnly bool) *Store {
	s := &Store{
		opt: o, path: path, readOnly: readOnly,
		ops:    make(chan *Pending, MaxQueued),
		urgent: make(chan struct{}, 1),
		bytes:  semaphore.NewWeighted(MaxQueuedBytes),
		events: make(chan []event.Event, maxEventBatches),
		done:   make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// start runs the writer and the notifier.
func (s *Store) start() {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(s.events)
		s.write()
	})
	wg.Go(func() {
		for events := range s.events {
			for _, e := range events {
				s.opt.Notify(e)
			}
		}
	})
	go func() {
		wg.Wait()
		close(s.done)
	}()
}

// Path is where the database is.
func (s *Store) Path() string { return s.path }

// Recovered says where a damaged database was moved when this one was started in its place; "" if there was none.
func (s *Store) Recovered() string { return s.recovered }

// Err returns the error of the last commit, nil when it worked. It is how faces learn of a full disk.
func (s *Store) Err() error {
	if p := s.lastErr.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *Store) setErr(err error) {
	if err == nil {
		s.lastErr.Store(nil)
		return
	}
	s.lastErr.Store(&err)
}

// Close refuses further writes with ErrClosed, commits what is queued, delivers the last events and releases the
// file. Writers that wait for room in the queue get ErrClosed. It may be called more than once.
func (s *Store) Close() error {
	s.once.Do(func() { s.closing = s.close() })
	return s.closing
}

func (s *Store) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.senders.Wait()
	close(s.ops)
	<-s.done
	return s.release()
}
