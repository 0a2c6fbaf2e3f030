package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/task"
)

func TestCommitsAtMostMaxDelayLater(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &breaker{}
		s, err := Open(filepath.Join(dir, "ionclaw.db"), Options{commit: b.commit})
		must(t, err)
		begin := time.Now()
		first := s.Append(key(1), "main", user("one"))
		<-time.After(MaxDelay / 2) // on the bubble's clock
		second := s.Append(key(1), "main", user("two"))
		<-first.done
		<-second.done
		if got := time.Since(begin); got != MaxDelay {
			t.Errorf("committed after %v, want %v", got, MaxDelay)
		}
		begin = time.Now()
		third := s.Append(key(1), "main", user("three"))
		fourth := s.Append(key(1), "main", user("four"))
		must(t, third.Wait(context.Background()))
		<-fourth.done
		if got := time.Since(begin); got != 0 {
			t.Errorf("with a waiter: committed after %v, want at once, and what was queued meanwhile too", got)
		}
		if got := b.commits(); got != 2 {
			t.Errorf("commits: got %d, want 2", got)
		}
		begin = time.Now()
		s.Append(key(1), "main", user("five"))
		must(t, s.Close())
		if got := time.Since(begin); got != 0 {
			t.Errorf("closing took %v, want no delay", got)
		}
	})
}

func TestEventsFollowTheCommitInOrder(t *testing.T) {
	rec := &recorder{}
	b := &breaker{}
	s := open(t, Options{Notify: rec.notify, commit: b.commit})
	ctx := context.Background()
	s.CreateSession(key(1), "main")
	s.Append(key(1), "main", user("hi"), assistant("ho"))
	s.PutTask(newTask("t", task.Running))
	s.PutTask(newTask("t", task.Done)).must(t)
	if err := s.PutTask(newTask("t", task.Failed)).Wait(ctx); !errors.Is(err, ErrFinal) {
		t.Errorf("got %v, want ErrFinal", err)
	}
	s.PutTask(newTask("t", task.Done)).must(t)
	s.CreateSession(key(1), "main").must(t)
	must(t, s.RenameSession(ctx, key(1), "Name"))
	must(t, s.RenameSession(ctx, key(1), "Name"))
	b.fail(syscall.ENOSPC)
	if err := s.Append(key(1), "main", user("lost")).Wait(ctx); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	b.fail(nil)
	if _, err := s.DeleteSession(ctx, key(1)); err != nil {
		t.Error(err)
	}
	s.PutMCPSession("x", nil)
	must(t, s.Close())
	want := []string{
		"session.changed MCP 00000000 (0)",
		"message.added 1 hi", "message.added 2 ho", "session.changed hi (2)",
		"task.changed t running", "task.changed t done",
		"session.changed Name (2)",
		"session.deleted",
	}
	if got := describe(rec.take()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What an event tells is there when it arrives, and Notify may read.
func TestNotifySeesTheCommit(t *testing.T) {
	var s *Store
	result := make(chan error, 1)
	s = open(t, Options{Notify: func(e event.Event) {
		if m, ok := e.(event.MessageAdded); ok {
			msgs, err := s.Messages(m.Session, MessageQuery{})
			if err == nil && len(msgs) != 1 {
				err = fmt.Errorf("%d messages", len(msgs))
			}
			result <- err
		}
	}})
	s.Append(key(1), "main", user("x"))
	if err := <-result; err != nil {
		t.Errorf("reading from Notify: %v", err)
	}
}

func TestFailedCommitFailsExactlyItsWrites(t *testing.T) {
	b := &breaker{}
	s := open(t, Options{commit: b.commit})
	ctx := context.Background()
	s.Append(key(1), "main", user("one")).must(t)
	if err := s.Err(); err != nil {
		t.Errorf("Err after a good commit: got %v", err)
	}
	b.fail(syscall.ENOSPC)
	lost := []*Pending{s.Append(key(1), "main", user("lost")), s.PutTask(newTask("t", task.Done)), s.CreateSession(key(2), "main")}
	for i, p := range lost {
		if err := p.Wait(ctx); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write %d: got %v, want ENOSPC", i, err)
		}
	}
	if err := s.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Err: got %v, want ENOSPC", err)
	}
	if err := s.CreateSession(key(1), "main").Wait(ctx); err != nil {
		t.Errorf("a write that changes nothing: got %v, want no error", err)
	}
	if err := s.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Err after a write that changed nothing: got %v, want it unchanged", err)
	}
	if got, err := s.Messages(key(1), MessageQuery{}); err != nil || !slices.Equal(contents(got), []string{"1 one"}) {
		t.Errorf("reading meanwhile: got %q, %v", contents(got), err)
	}
	b.fail(nil)
	s.Append(key(1), "main", user("two")).must(t)
	s.PutTask(newTask("t", task.Failed)).must(t) // the lost final state does not count
	if err := s.Err(); err != nil {
		t.Errorf("Err after the next good commit: got %v", err)
	}
	if got, err := s.Messages(key(1), MessageQuery{}); err != nil || !slices.Equal(contents(got), []string{"1 one", "2 two"}) {
		t.Errorf("afterwards: got %q, %v; want no gap", contents(got), err)
	}
	if _, err := s.Session(key(2)); !errors.Is(err, ErrNotFound) {
		t.Errorf("the lost chat: got %v, want ErrNotFound", err)
	}
}

// A write that breaks half-way leaves nothing behind and does not harm the others of its batch.
func TestFailingWriteHarmsNoNeighbour(t *testing.T) {
	rec := &recorder{}
	b := &breaker{}
	s := open(t, Options{Notify: rec.notify, commit: b.commit})
	boom := errors.New("boom")
	ctx := context.Background()
	var pending []*Pending
	add := func(i int) { pending = append(pending, s.Append(key(1), "main", user(fmt.Sprint(i)))) }
	add(1)
	half := s.enqueue(ctx, 0, func(c *change) error {
		must(t, c.put(bucketMCP, []byte("half"), []byte("x")))
		c.emit(event.ConfigChanged{})
		return boom
	})
	add(2)
	panics := s.enqueue(ctx, 0, func(c *change) error {
		must(t, c.put(bucketMCP, []byte("panic"), []byte("x")))
		panic("bug")
	})
	add(3)
	refused := s.enqueue(ctx, 0, func(c *change) error { c.emit(event.ConfigChanged{}); return boom })
	add(4)
	for _, p := range pending {
		p.must(t)
	}
	if err := half.Wait(ctx); !errors.Is(err, boom) {
		t.Errorf("the broken one: got %v, want %v", err, boom)
	}
	if err := panics.Wait(ctx); err == nil || !strings.Contains(err.Error(), "bug") {
		t.Errorf("the panicking one: got %v, want an error that tells", err)
	}
	if err := refused.Wait(ctx); !errors.Is(err, boom) {
		t.Errorf("the refused one: got %v, want %v", err, boom)
	}
	if got, err := s.Messages(key(1), MessageQuery{}); err != nil || !slices.Equal(contents(got), []string{"1 1", "2 2", "3 3", "4 4"}) {
		t.Errorf("the others: got %q, %v", contents(got), err)
	}
	if got, err := s.MCPSessions(); err != nil || len(got) != 0 {
		t.Errorf("left behind: got %q, %v; want nothing", got, err)
	}
	if b.commits() != 1 {
		t.Errorf("commits: got %d, want 1", b.commits())
	}
	must(t, s.Close())
	want := []string{}
	for i := 1; i <= 4; i++ {
		want = append(want, fmt.Sprintf("message.added %d %d", i, i), fmt.Sprintf("session.changed 1 (%d)", i))
	}
	if got := describe(rec.take()); !slices.Equal(got, want) {
		t.Errorf("events: got %q, want %q", got, want)
	}
}

// gate is a commit that waits for the test.
type gate struct{ entered, leave chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) commit(tx *bolt.Tx) error {
	g.entered <- struct{}{}
	<-g.leave
	return tx.Commit()
}

func TestFullQueueHoldsItsWriters(t *testing.T) {
	g := newGate()
	s := open(t, Options{commit: g.commit})
	first := s.CreateSession(key(0), "main")
	go first.Wait(context.Background())
	<-g.entered // from here on nothing leaves the queue
	for i := range MaxQueued {
		s.CreateSession(key(i+1), "main")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("gave up")
	renamed := make(chan error, 1)
	go func() { renamed <- s.RenameSession(ctx, key(0), "x") }()
	cancel(cause)
	if err := <-renamed; !errors.Is(err, cause) || !strings.Contains(err.Error(), fmt.Sprint(MaxQueued)) {
		t.Errorf("a writer that gave up: got %v, want its cause and the limit", err)
	}
	blocked := make(chan error, 3)
	for range 2 {
		go func() { blocked <- s.CreateSession(key(99_999), "main").Wait(context.Background()) }()
	}
	go func() {
		_, err := s.DeleteSession(context.Background(), key(0))
		blocked <- err
	}()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for range 3 {
		if err := <-blocked; !errors.Is(err, ErrClosed) {
			t.Errorf("a writer that waited while the store closed: got %v, want ErrClosed", err)
		}
	}
	g.leave <- struct{}{}
	for {
		select {
		case <-g.entered:
			g.leave <- struct{}{}
			continue
		case err := <-closed:
			must(t, err)
		}
		break
	}
	must(t, first.Wait(context.Background()))
	s = openAt(t, s.path, Options{})
	if got := s.count(t, bucketSessions); got != MaxQueued+1 {
		t.Errorf("stored: got %d, want everything that was queued before, %d", got, MaxQueued+1)
	}
}

func TestQueuedBytesAreBounded(t *testing.T) {
	g := newGate()
	s := open(t, Options{commit: g.commit})
	first := s.CreateSession(key(0), "main")
	go first.Wait(context.Background())
	<-g.entered
	big := strings.Repeat("x", MaxMCPRecord)
	for range MaxQueuedBytes/(MaxMCPRecord+writeCost) - 1 {
		s.PutMCPSession("a", []byte(big))
	}
	ctx, cancel := context.WithCancel(context.Background())
	failedEarly := make(chan error, 1)
	go func() { failedEarly <- s.enqueue(ctx, 3*MaxMCPRecord, func(*change) error { return nil }).Wait(ctx) }()
	cancel()
	if err := <-failedEarly; !errors.Is(err, context.Canceled) {
		t.Errorf("a write beyond the bytes: got %v, want the end of its context", err)
	}
	result := make(chan error, 1)
	go func() {
		result <- s.enqueue(context.Background(), 1<<40, func(*change) error { return nil }).Wait(context.Background())
	}()
	for done := false; !done; {
		select {
		case g.leave <- struct{}{}:
		case <-g.entered:
		case err := <-result:
			must(t, err)
			done = true
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for done := false; !done; {
		select {
		case g.leave <- struct{}{}:
		case <-g.entered:
		case err := <-closed:
			must(t, err)
			done = true
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	g := newGate()
	s := open(t, Options{commit: g.commit})
	p := s.Append(key(1), "main", user("x"))
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() { result <- p.Wait(ctx) }()
	<-g.entered
	cause := errors.New("enough")
	cancel(cause)
	if err := <-result; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	g.leave <- struct{}{}
	if err := p.Wait(context.Background()); err != nil {
		t.Errorf("the write goes on: got %v", err)
	}
	if err := p.Wait(ctx); err != nil {
		t.Errorf("a finished write with an ended context: got %v, want its own result", err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, Options{})
	last := s.Append(key(1), "main", user("x"))
	must(t, s.Close())
	must(t, s.Close())
	if err := last.Wait(context.Background()); err != nil {
		t.Errorf("a write before Close: got %v", err)
	}
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"Append":         func() error { return s.Append(key(1), "main", user("x")).Wait(ctx) },
		"PutTask":        func() error { return s.PutTask(newTask("t", task.Done)).Wait(ctx) },
		"RenameSession":  func() error { return s.RenameSession(ctx, key(1), "x") },
		"DeleteSession":  func() error { _, err := s.DeleteSession(ctx, key(1)); return err },
		"InterruptTasks": func() error { _, err := s.InterruptTasks("x"); return err },
		"Session":        func() error { _, err := s.Session(key(1)); return err },
		"Sessions":       func() error { _, err := s.Sessions(SessionQuery{}); return err },
		"Messages":       func() error { _, err := s.Messages(key(1), MessageQuery{}); return err },
		"Task":           func() error { _, err := s.Task("t"); return err },
		"Tasks":          func() error { _, err := s.Tasks(TaskQuery{}); return err },
		"MCPSessions":    func() error { _, err := s.MCPSessions(); return err },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
	s.Draft(key(1), "main", "t", "x")
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, Options{})
	const writers, each = 16, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				p := s.Append(key(w%4), "main", user(fmt.Sprintf("%d/%d", w, i)))
				s.PutTask(newTask(fmt.Sprintf("%d/%d", w, i), task.Running))
				s.Draft(key(w%4), "main", fmt.Sprintf("%d/%d", w, i), "text")
				if i%5 == 0 {
					p.must(t)
				}
			}
			s.PutTask(newTask(fmt.Sprintf("%d/0", w), task.Done)).must(t)
		})
		wg.Go(func() {
			for range each {
				_, err := s.Sessions(SessionQuery{Query: "1", Limit: 2})
				must2(t, err)
				_, err = s.Messages(key(w%4), MessageQuery{Limit: 3})
				if !errors.Is(err, ErrNotFound) {
					must2(t, err)
				}
				_, err = s.Tasks(TaskQuery{State: task.Running, Session: key(1)})
				must2(t, err)
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	for k := range 4 {
		msgs, err := s.Messages(key(k), MessageQuery{Limit: MaxMessages})
		must(t, err)
		if want := writers / 4 * each; len(msgs) != want {
			t.Errorf("chat %d: got %d messages, want %d", k, len(msgs), want)
		}
		for i, m := range msgs {
			if m.Seq != uint64(i+1) {
				t.Fatalf("chat %d: message %d has number %d", k, i, m.Seq)
			}
			writer, n, _ := strings.Cut(m.Content, "/")
			if n != fmt.Sprint(next[writer]) {
				t.Fatalf("chat %d: writer %s: got message %s, want %d next", k, writer, n, next[writer])
			}
			next[writer]++
		}
	}
}

func must2(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
