package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

const crashWriters = 8

// crashChild writes without end and says on its output what is on disk.
func crashChild() {
	s, err := Open(os.Getenv(pathVariable), Options{})
	childFailed(err)
	var (
		wg  sync.WaitGroup
		out sync.Mutex
	)
	for w := range crashWriters {
		wg.Go(func() {
			for i := 1; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				s.Append(key(w), "main", user(id))
				k := newTask(id, task.Running)
				k.SessionID = key(w)
				s.PutTask(k)
				s.Draft(key(w), "main", id, "text")
				k.State = task.Done
				if i%3 == 0 { // left running
					childFailed(s.PutMCPSession(id, []byte(id)).Wait(context.Background()))
				} else {
					childFailed(s.PutTask(k).Wait(context.Background()))
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

// Killed at any moment, the program loses nothing that it has acknowledged.
func TestKilledProgramLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	rnd := rand.New(rand.NewPCG(7, 8))
	acknowledged := map[string]bool{}
	for round := range 6 {
		child, _, out := startChild(t, "crash", path)
		for n := 1 + rnd.IntN(150); n > 0 && out.Scan(); n-- {
			acknowledged[out.Text()] = true
		}
		must(t, child.Process.Kill())
		for out.Scan() { // written before it died
			acknowledged[out.Text()] = true
		}
		_ = child.Wait()

		s, err := Open(path, Options{})
		must(t, err)
		if s.Recovered() != "" {
			t.Fatalf("round %d: the database was damaged", round)
		}
		checkAcknowledged(t, s, acknowledged)
		must(t, s.Close())
	}
	if len(acknowledged) < 6 {
		t.Errorf("only %d writes were acknowledged", len(acknowledged))
	}
}

func checkAcknowledged(t *testing.T, s *Store, acknowledged map[string]bool) {
	t.Helper()
	if _, err := s.InterruptTasks("crash"); err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for w := range crashWriters {
		before := uint64(0)
		for {
			msgs, err := s.Messages(key(w), MessageQuery{Limit: MaxMessages, Before: before})
			must(t, err)
			if len(msgs) == 0 {
				break
			}
			for i, m := range msgs {
				if m.Seq != msgs[0].Seq+uint64(i) {
					t.Fatalf("chat %d: a gap at message %d", w, m.Seq)
				}
				if m.Role == session.RoleUser {
					stored[m.Content] = true
				}
			}
			if before = msgs[0].Seq; before == 1 {
				break
			}
		}
	}
	records, err := s.MCPSessions()
	must(t, err)
	for id := range acknowledged {
		if !stored[id] {
			t.Errorf("message %s is lost", id)
		}
		k, err := s.Task(id)
		want := task.Done
		if _, left := records[id]; left {
			want = task.Interrupted
		}
		if err != nil || k.State != want {
			t.Errorf("task %s: got %q, %v; want %q", id, k.State, err, want)
		}
		if want == task.Interrupted && !strings.Contains(k.ErrorMessage, "crash") {
			t.Errorf("task %s: got the reason %q", id, k.ErrorMessage)
		}
	}
}
