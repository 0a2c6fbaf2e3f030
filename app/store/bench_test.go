package store

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

const (
	benchSessions = 100_000
	benchMessages = 10_000
)

var (
	benchOnce sync.Once
	benchData string
)

// benchStore opens a copy of a database with benchSessions chats, one of them with benchMessages messages.
func benchStore(b *testing.B) *Store {
	b.Helper()
	benchOnce.Do(func() {
		dir, err := os.MkdirTemp("", "store-bench")
		must(b, err)
		benchData = filepath.Join(dir, "ionclaw.db")
		s, err := Open(benchData, Options{})
		must(b, err)
		s.db.NoSync = true
		for i := range benchSessions {
			k := key(i)
			if i%100 == 0 {
				k.Channel = session.ChannelDesktop
			}
			s.Append(k, "main", user(fmt.Sprintf("Please explain thing number %d in a way that anyone understands", i)), assistant(strings.Repeat("answer ", 20)))
		}
		for i := range benchMessages {
			s.Append(key(1), "main", user(fmt.Sprintf("message %d %s", i, strings.Repeat("x", 200))))
		}
		for i := range MaxTasks {
			k := newTask(fmt.Sprint(i), task.Done)
			k.SessionID, k.Result = key(i%500), strings.Repeat("answer ", 20)
			s.PutTask(k)
		}
		must(b, s.Close())
	})
	path := filepath.Join(b.TempDir(), "ionclaw.db")
	in, err := os.Open(benchData)
	must(b, err)
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(b, err)
	_, err = io.Copy(out, in)
	must(b, err)
	must(b, out.Close())
	s, err := Open(path, Options{})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	b.ReportAllocs()
	b.ResetTimer()
	return s
}

func BenchmarkSessionsFirstPage(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if p, err := s.Sessions(SessionQuery{}); err != nil || len(p.Sessions) != DefaultSessions {
			b.Fatal(len(p.Sessions), err)
		}
	}
}

func BenchmarkSessionsRareChannel(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if p, err := s.Sessions(SessionQuery{Channel: session.ChannelDesktop}); err != nil || len(p.Sessions) != DefaultSessions {
			b.Fatal(len(p.Sessions), err)
		}
	}
}

func BenchmarkSessionsSearchWithoutHit(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if p, err := s.Sessions(SessionQuery{Query: "not there"}); err != nil || len(p.Sessions) != 0 {
			b.Fatal(len(p.Sessions), err)
		}
	}
}

func BenchmarkMessagesLastPage(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if m, err := s.Messages(key(1), MessageQuery{}); err != nil || len(m) != DefaultMessages {
			b.Fatal(len(m), err)
		}
	}
}

func BenchmarkTasksRareFilter(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if p, err := s.Tasks(TaskQuery{Agent: "nobody"}); err != nil || len(p.Tasks) != 0 {
			b.Fatal(len(p.Tasks), err)
		}
	}
}

// BenchmarkAppendWaiters64: 64 writers, each waits for its commit.
func BenchmarkAppendWaiters64(b *testing.B) {
	s := benchStore(b)
	b.SetParallelism(32) // times the number of processors, two on the machine that the figures are from
	var n int
	var mu sync.Mutex
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		n++
		k := key(n * 997)
		mu.Unlock()
		for pb.Next() {
			if err := s.Append(k, "main", user("hello")).Wait(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkChats64 stores what one chat turn stores, 64 at a time: task, question, answer, final state.
func BenchmarkChats64(b *testing.B) {
	s := benchStore(b)
	var wg sync.WaitGroup
	next := make(chan int, 64)
	for w := range 64 {
		wg.Go(func() {
			k := key(w * 997)
			for i := range next {
				t := newTask(fmt.Sprintf("chat %d", i), task.Running)
				t.SessionID = k
				s.PutTask(t)
				s.Append(k, "main", user("hello"))
				s.Draft(k, "main", t.ID, "answer")
				a := assistant("answer")
				a.TaskID = t.ID
				s.Append(k, "main", a)
				t.State = task.Done
				if err := s.PutTask(t).Wait(context.Background()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	begin := time.Now()
	for i := range b.N {
		next <- i
	}
	close(next)
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "chats/s")
}

func BenchmarkCheckPages(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		must(b, checkPages(s.file, MaxCheckedPages))
	}
	m, err := readMeta(s.file)
	must(b, err)
	b.ReportMetric(float64(m.pages), "pages")
}

func BenchmarkOpen(b *testing.B) {
	s := benchStore(b)
	must(b, s.Close())
	for b.Loop() {
		s, err := Open(s.path, Options{})
		must(b, err)
		must(b, s.Close())
	}
}

func BenchmarkDeleteLongChat(b *testing.B) {
	s := benchStore(b)
	msgs := make([]session.Message, benchMessages)
	for i := range msgs {
		msgs[i] = user(strings.Repeat("x", 200))
	}
	for b.Loop() {
		b.StopTimer()
		must(b, s.Append(key(77), "main", msgs...).Wait(context.Background()))
		b.StartTimer()
		if found, err := s.DeleteSession(context.Background(), key(77)); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}
