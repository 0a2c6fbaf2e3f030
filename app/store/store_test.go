package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		child()
		return
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// childVariable makes the test program do one of the children's jobs instead of the tests.
const childVariable = "STORE_TEST_CHILD"

var children = map[string]func(){
	"crash": crashChild,
	"full":  fullChild,
	"hold":  holdChild,
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// open opens a database in a folder of its own and closes it at the end of the test.
func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	return openAt(tb, filepath.Join(tb.TempDir(), "data", "ionclaw.db"), o)
}

func openAt(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := Open(path, o)
	must(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("closing: %v", err)
		}
	})
	return s
}

func (p *Pending) must(tb testing.TB) {
	tb.Helper()
	must(tb, p.Wait(context.Background()))
}

func key(n int) session.Key {
	return session.Key{Channel: session.ChannelMCP, ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

func user(text string) session.Message { return session.Message{Role: session.RoleUser, Content: text} }

func assistant(text string) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: text}
}

func newTask(id string, state task.State) task.Task {
	return task.Task{ID: id, Title: "Title of " + id, State: state, Channel: session.ChannelMCP, SessionID: key(1), CreatedAt: at(0), UpdatedAt: at(0)}
}

// at is a time so many seconds after a fixed one.
func at(seconds int) session.Time {
	return session.At(time.Date(2026, 3, 1, 12, 0, seconds, 0, time.UTC))
}

// clock is a clock that the test sets.
type clock struct {
	mu sync.Mutex
	t  session.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t.Time
}

func (c *clock) set(t session.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

// recorder collects events.
type recorder struct {
	mu     sync.Mutex
	events []event.Event
}

func (r *recorder) notify(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// take returns what was recorded and forgets it. The store must be closed or known to be quiet.
func (r *recorder) take() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.events
	r.events = nil
	return e
}

// describe makes events comparable and readable.
func describe(events []event.Event) []string {
	var out []string
	for _, e := range events {
		switch e := e.(type) {
		case event.MessageAdded:
			out = append(out, fmt.Sprintf("%s %d %s", e.Type(), e.Message.Seq, e.Message.Content))
		case event.SessionChanged:
			out = append(out, fmt.Sprintf("%s %s (%d)", e.Type(), e.Session.DisplayName, e.Session.Messages))
		case event.SessionDeleted:
			out = append(out, e.Type())
		case event.TaskChanged:
			out = append(out, fmt.Sprintf("%s %s %s", e.Type(), e.Task.ID, e.Task.State))
		default:
			out = append(out, fmt.Sprintf("unexpected %T", e))
		}
	}
	return out
}

// breaker fails commits on demand.
type breaker struct {
	mu  sync.Mutex
	err error
	n   int // commits that were tried
}

func (b *breaker) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *breaker) commits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

func (b *breaker) commit(tx *bolt.Tx) error {
	b.mu.Lock()
	b.n++
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return tx.Commit()
}

func contents(msgs []session.Message) []string {
	out := []string{}
	for _, m := range msgs {
		out = append(out, fmt.Sprintf("%d %s", m.Seq, m.Content))
	}
	return out
}
