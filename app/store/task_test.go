package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

func TestTaskLife(t *testing.T) {
	s := open(t, Options{})
	ctx := context.Background()
	k := newTask("t1", task.Queued)
	k.QueuePosition = 3
	s.PutTask(k).must(t)
	if got, err := s.Task("t1"); err != nil || !reflect.DeepEqual(got, k) {
		t.Errorf("queued: got %+v, %v; want %+v", got, err, k)
	}
	k.State, k.StartedAt, k.UpdatedAt, k.QueuePosition = task.Running, at(5), at(5), 0
	s.PutTask(k).must(t)
	done := k
	done.State, done.CompletedAt, done.UpdatedAt, done.Result = task.Done, at(9), at(9), "<42>"
	s.PutTask(done).must(t)
	if got, err := s.Task("t1"); err != nil || !reflect.DeepEqual(got, done) {
		t.Errorf("done: got %+v, %v; want %+v", got, err, done)
	}
	if err := s.PutTask(done).Wait(ctx); err != nil {
		t.Errorf("the same final record again: got %v, want no error", err)
	}
	other := done
	other.Result = "43"
	stopped := done
	stopped.State = task.Stopped
	for _, again := range []task.Task{k, other, stopped} {
		if err := s.PutTask(again).Wait(ctx); !errors.Is(err, ErrFinal) {
			t.Errorf("another record over the final state: got %v, want ErrFinal", err)
		}
	}
	if got, err := s.Task("t1"); err != nil || !reflect.DeepEqual(got, done) {
		t.Errorf("after refused records: got %+v, %v; want %+v", got, err, done)
	}
	if _, err := s.Task("t2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown task: got %v, want ErrNotFound", err)
	}
}

func TestTaskTimesNeverGoBack(t *testing.T) {
	s := open(t, Options{now: (&clock{t: at(50)}).now})
	k := newTask("t1", task.Queued)
	k.CreatedAt, k.UpdatedAt = session.Time{}, session.Time{}
	s.PutTask(k).must(t)
	got, err := s.Task("t1")
	if err != nil || got.CreatedAt != at(50) || got.UpdatedAt != at(50) {
		t.Errorf("without times: got %v and %v, %v; want the clock's", got.CreatedAt, got.UpdatedAt, err)
	}
	k.State, k.CreatedAt, k.UpdatedAt = task.Running, at(99), at(100)
	s.PutTask(k).must(t)
	k.State, k.UpdatedAt, k.CompletedAt = task.Done, at(10), at(1)
	s.PutTask(k).must(t)
	got, err = s.Task("t1")
	if err != nil || got.CreatedAt != at(50) || got.UpdatedAt != at(100) || got.CompletedAt != at(50) {
		t.Errorf("after the clock went back: got created %v, updated %v, completed %v, %v", got.CreatedAt, got.UpdatedAt, got.CompletedAt, err)
	}
	if err := s.PutTask(k).Wait(context.Background()); err != nil {
		t.Errorf("the same record again: got %v, want no error", err)
	}
}

func TestRefusesBadTasks(t *testing.T) {
	s := open(t, Options{})
	bad := map[string]func(*task.Task){
		"no id":         func(k *task.Task) { k.ID = "" },
		"long id":       func(k *task.Task) { k.ID = string(make([]byte, maxTaskID+1)) },
		"zero in id":    func(k *task.Task) { k.ID = "a\x00b" },
		"state":         func(k *task.Task) { k.State = "finished" },
		"no state":      func(k *task.Task) { k.State = "" },
		"no session":    func(k *task.Task) { k.SessionID = session.Key{} },
		"other session": func(k *task.Task) { k.ID, k.SessionID = "fixed", key(2) },
	}
	s.PutTask(newTask("fixed", task.Queued)).must(t)
	for name, change := range bad {
		k := newTask("t", task.Queued)
		change(&k)
		if err := s.PutTask(k).Wait(context.Background()); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if got, err := s.Tasks(TaskQuery{}); err != nil || len(got.Tasks) != 1 {
		t.Errorf("list: got %d tasks, %v; want 1", len(got.Tasks), err)
	}
}

func ids(p TaskPage) []string {
	out := []string{}
	for _, k := range p.Tasks {
		out = append(out, k.ID)
	}
	return out
}

func TestTaskList(t *testing.T) {
	s := open(t, Options{})
	for i, k := range []struct {
		state task.State
		agent string
		chat  int
	}{
		{task.Done, "main", 1}, {task.Failed, "main", 2}, {task.Running, "poet", 1}, {task.Done, "poet", 2},
		{task.Queued, "", 1}, {task.Stopped, "main", 1}, {task.Done, "main", 1},
	} {
		x := newTask(fmt.Sprint(i), task.Queued)
		x.SessionID = key(k.chat)
		s.PutTask(x)
		x.State, x.Agent = k.state, k.agent
		if k.state != task.Queued {
			s.PutTask(x)
		}
	}
	s.CreateSession(key(9), "main").must(t)
	tests := []struct {
		q    TaskQuery
		want []string
	}{
		{TaskQuery{}, []string{"6", "5", "4", "3", "2", "1", "0"}},
		{TaskQuery{State: task.Done}, []string{"6", "3", "0"}},
		{TaskQuery{Agent: "poet"}, []string{"3", "2"}},
		{TaskQuery{Session: key(2)}, []string{"3", "1"}},
		{TaskQuery{Session: key(1), State: task.Done, Agent: "main"}, []string{"6", "0"}},
		{TaskQuery{Session: key(3)}, []string{}},
		{TaskQuery{Agent: "nobody"}, []string{}},
	}
	for _, tt := range tests {
		for limit := 1; limit <= 8; limit++ {
			got := []string{}
			for q := tt.q; ; {
				q.Limit = limit
				p, err := s.Tasks(q)
				must(t, err)
				if len(p.Tasks) > limit || p.Next != "" && len(p.Tasks) < limit {
					t.Errorf("%+v: a page of %d with next %q, want %d", q, len(p.Tasks), p.Next, limit)
				}
				got = append(got, ids(p)...)
				if q.Cursor = p.Next; q.Cursor == "" {
					break
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%+v in pages of %d: got %q, want %q", tt.q, limit, got, tt.want)
			}
		}
	}
	if _, err := s.Tasks(TaskQuery{State: "finished"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown state: got %v, want ErrInvalid", err)
	}
	p, err := s.Tasks(TaskQuery{Limit: 1})
	must(t, err)
	if _, err := s.Tasks(TaskQuery{Limit: 1, Cursor: p.Next, State: task.Done}); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor with another filter: got %v, want ErrBadCursor", err)
	}
}

func TestTaskRetention(t *testing.T) {
	s := open(t, Options{})
	s.PutTask(newTask("oldest but running", task.Running))
	for i := range MaxTasks + 10 {
		s.PutTask(newTask(fmt.Sprintf("%05d", i), task.Done))
	}
	s.CreateSession(key(1), "main").must(t)
	for id, kept := range map[string]bool{"oldest but running": true, "00000": false, "00010": false, "00011": true, fmt.Sprintf("%05d", MaxTasks+9): true} {
		if _, err := s.Task(id); (err == nil) != kept {
			t.Errorf("task %s: got %v, want it kept: %v", id, err, kept)
		}
	}
	for _, b := range [][]byte{bucketTasks, bucketTaskOrder, bucketTaskNum, bucketTaskChat} {
		if got := s.count(t, b); got != MaxTasks {
			t.Errorf("bucket %s: got %d entries, want %d", b, got, MaxTasks)
		}
	}
	if got := s.count(t, bucketTaskFinal); got != MaxTasks-1 {
		t.Errorf("bucket %s: got %d entries, want %d", bucketTaskFinal, got, MaxTasks-1)
	}
	for limit, want := range map[int]int{0: DefaultTasks, 1 << 30: MaxTaskPage} {
		if p, err := s.Tasks(TaskQuery{Limit: limit}); err != nil || len(p.Tasks) != want {
			t.Errorf("limit %d: got %d tasks, %v; want %d", limit, len(p.Tasks), err, want)
		}
	}
}

func TestInterruptTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	s.Append(key(1), "main", user("question"))
	for id, state := range map[string]task.State{"q": task.Queued, "r": task.Running, "d": task.Done, "e": task.Failed, "s": task.Stopped} {
		k := newTask(id, state)
		k.QueuePosition = 1
		s.PutTask(k)
	}
	must(t, s.Close())

	rec := &recorder{}
	s = openAt(t, path, Options{Notify: rec.notify, now: (&clock{t: at(-500)}).now})
	for want := 2; want >= 0; want -= 2 {
		if n, err := s.InterruptTasks("the program ended"); err != nil || n != want {
			t.Errorf("interrupting: got %d, %v; want %d", n, err, want)
		}
	}
	for id, want := range map[string]task.State{"q": task.Interrupted, "r": task.Interrupted, "d": task.Done, "e": task.Failed, "s": task.Stopped} {
		got, err := s.Task(id)
		if err != nil || got.State != want {
			t.Errorf("task %s: got %q, %v; want %q", id, got.State, err, want)
		}
		if want == task.Interrupted && (got.ErrorMessage != "the program ended" || got.ErrorClass != "interrupted" || got.CompletedAt != at(0) || got.UpdatedAt != at(0) || got.QueuePosition != 0) {
			t.Errorf("task %s: got %+v; want the reason and times that did not go back", id, got)
		}
	}
	must(t, s.Close())
	got := describe(rec.take())
	slices.Sort(got)
	if want := []string{"task.changed q interrupted", "task.changed r interrupted"}; !slices.Equal(got, want) {
		t.Errorf("events: got %q, want %q", got, want)
	}
}

func TestDraftBecomesAMessageAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	run := func(id string, chat int) {
		k := newTask(id, task.Running)
		k.SessionID = key(chat)
		s.PutTask(k)
		s.Append(key(chat), "main", user("question"))
	}
	for chat, id := range []string{"cut", "answered", "failed", "deleted", "mute"} {
		run(id, chat)
	}
	draft := func(id string, chat int, text string) {
		s.Draft(key(chat), "main", id, text)
		s.CreateSession(key(100), "main").must(t) // each piece in a commit of its own
	}
	draft("cut", 0, "Once upon ")
	draft("cut", 0, "a\x00 time \xf0\x9f")
	draft("cut", 0, "\x98\x80")
	draft("answered", 1, "par")
	answer := assistant("partial no more")
	answer.TaskID = "answered"
	s.Append(key(1), "main", answer)
	draft("failed", 2, "oh")
	failed := newTask("failed", task.Failed)
	failed.SessionID = key(2)
	s.PutTask(failed)
	draft("deleted", 3, "gone")
	if _, err := s.DeleteSession(context.Background(), key(3)); err != nil {
		t.Fatal(err)
	}
	s.Draft(key(0), "main", "", "no task")
	s.Draft(session.Key{}, "main", "cut", "no chat")
	must(t, s.Close())

	s = openAt(t, path, Options{})
	if n, err := s.InterruptTasks("crashed"); err != nil || n != 4 {
		t.Fatalf("interrupting: got %d, %v; want 4", n, err)
	}
	for chat, want := range [][]string{
		{"1 question", "2 Once upon a\x00 time 😀"}, {"1 question", "2 partial no more"}, {"1 question"}, nil, {"1 question"},
	} {
		got, err := s.Messages(key(chat), MessageQuery{})
		if want == nil {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("chat %d: got %q, %v; want it to stay deleted", chat, contents(got), err)
			}
			continue
		}
		if err != nil || !slices.Equal(contents(got), want) {
			t.Errorf("chat %d: got %q, %v; want %q", chat, contents(got), err, want)
		}
	}
	got, err := s.Messages(key(0), MessageQuery{Limit: 1})
	must(t, err)
	if m := got[0]; m.Role != session.RoleAssistant || !m.Aborted || m.Error != "crashed" || m.TaskID != "cut" || m.Agent != "main" {
		t.Errorf("the rescued answer: got %+v", m)
	}
	if k, err := s.Task("cut"); err != nil || k.Result != "Once upon a\x00 time 😀" {
		t.Errorf("the task's result: got %q, %v", k.Result, err)
	}
	if n := s.count(t, bucketDrafts); n != 0 {
		t.Errorf("drafts left: got %d, want 0", n)
	}
}
