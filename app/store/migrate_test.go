package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

func version(t *testing.T, path string) uint64 {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	must(t, err)
	defer db.Close()
	var v uint64
	must(t, db.View(func(tx *bolt.Tx) error {
		v, err = schemaVersion(tx)
		return err
	}))
	return v
}

func TestNewDatabaseHasTheNewestSchema(t *testing.T) {
	s := open(t, Options{})
	must(t, s.Close())
	if got, want := version(t, s.path), uint64(len(migrations)); got != want {
		t.Errorf("version: got %d, want %d", got, want)
	}
}

// The fixture was written by version 1. Every later version must read it.
func TestFixtureVersion1(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "version1.db"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	must(t, os.WriteFile(path, b, 0o600))
	s := openAt(t, path, Options{})
	if s.Recovered() != "" {
		t.Fatal("the fixture was taken for damaged")
	}
	page, err := s.Sessions(SessionQuery{})
	if want := []string{"Second chat", "Été à Köln"}; err != nil || !slices.Equal(names3(page), want) {
		t.Errorf("chats: got %q, %v; want %q", names3(page), err, want)
	}
	info, err := s.Session(key(1))
	want := session.Info{
		Key: key(1), Channel: "mcp", DisplayName: "Été à Köln", Agent: "main", CreatedAt: at(1), UpdatedAt: at(2), Messages: 2,
		Usage: session.Usage{Input: 3, Output: 4},
	}
	if err != nil || info != want {
		t.Errorf("row: got %+v, %v; want %+v", info, err, want)
	}
	if p, err := s.Sessions(SessionQuery{Query: "KOLN"}); err != nil || len(p.Sessions) != 1 {
		t.Errorf("search: got %q, %v", names3(p), err)
	}
	msgs, err := s.Messages(key(1), MessageQuery{})
	if want := []string{"1 Été à Köln", "2 Oui"}; err != nil || !slices.Equal(contents(msgs), want) {
		t.Errorf("messages: got %q, %v; want %q", contents(msgs), err, want)
	}
	if p, err := s.Tasks(TaskQuery{Session: key(1)}); err != nil || !slices.Equal(ids(p), []string{"t2", "t1"}) {
		t.Errorf("tasks: got %q, %v", ids(p), err)
	}
	if m, err := s.MCPSessions(); err != nil || string(m["m1"]) != "record" {
		t.Errorf("MCP sessions: got %q, %v", m, err)
	}
	if n, err := s.InterruptTasks("x"); err != nil || n != 1 {
		t.Errorf("interrupting: got %d, %v; want 1", n, err)
	}
	if msgs, err := s.Messages(key(1), MessageQuery{Limit: 1}); err != nil || msgs[0].Content != "draft" {
		t.Errorf("the rescued draft: got %q, %v", contents(msgs), err)
	}
}

// writeFixture makes testdata/version1.db. It stays here so that the next version can be written in the same way.
func writeFixture(t *testing.T, path string) {
	t.Helper()
	s := openAt(t, path, Options{now: (&clock{t: at(1)}).now})
	answer := assistant("Oui")
	answer.Timestamp, answer.Usage = at(2), &session.Usage{Input: 3, Output: 4}
	s.Append(key(1), "main", user("Été à Köln"), answer)
	s.Append(key(2), "poet", user("Second chat"))
	s.PutTask(newTask("t1", task.Done))
	s.PutTask(newTask("t2", task.Running))
	s.Draft(key(1), "main", "t2", "draft")
	s.PutMCPSession("m1", []byte("record"))
	must(t, s.Close())
}

func TestFixtureIsWhatThisVersionWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	writeFixture(t, path)
	if os.Getenv("UPDATE_FIXTURE") != "" {
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(filepath.Join("testdata", "version1.db"), b, 0o644))
	}
	if got, want := dump(t, path), dump(t, filepath.Join("testdata", "version1.db")); got != want {
		t.Errorf("the stored form has changed without a new schema version: got\n%s\nwant\n%s", got, want)
	}
}

// dump writes down every key and value of a database.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	must(t, err)
	defer db.Close()
	var b strings.Builder
	must(t, db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			b.WriteString(string(name) + "\n")
			return bucket.ForEach(func(k, v []byte) error {
				b.WriteString("  " + strings.ToValidUTF8(string(k), "?") + " = " + string(v) + "\n")
				return nil
			})
		})
	}))
	return b.String()
}

func TestMigrationsRunOnceAndInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	var ran []string
	step := func(name string, err error) migration {
		return func(tx *bolt.Tx) error {
			ran = append(ran, name)
			if e := tx.Bucket(bucketMCP).Put([]byte(name), []byte("x")); e != nil {
				return e
			}
			return err
		}
	}
	must(t, openAt(t, path, Options{}).Close())
	boom := errors.New("boom")
	_, err := Open(path, Options{schema: []migration{createBuckets, step("two", nil), step("three", boom)}})
	if !errors.Is(err, boom) {
		t.Errorf("a failing step: got %v, want %v", err, boom)
	}
	if got := version(t, path); got != 2 {
		t.Errorf("version after it: got %d, want 2", got)
	}
	s := openAt(t, path, Options{schema: []migration{createBuckets, step("two", nil), step("three", nil)}})
	if want := []string{"two", "three", "three"}; !slices.Equal(ran, want) {
		t.Errorf("steps: got %q, want %q", ran, want)
	}
	if m, err := s.MCPSessions(); err != nil || len(m) != 2 {
		t.Errorf("what they did: got %q, %v; want two and three", m, err)
	}
	must(t, s.Close())
}

func TestOtherVersionsAreLeftAlone(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer.db")
	s := openAt(t, newer, Options{schema: []migration{createBuckets, func(*bolt.Tx) error { return nil }}})
	s.CreateSession(key(1), "main")
	must(t, s.Close())

	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := bolt.Open(foreign, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("someone else's"))
		return err
	}))
	must(t, db.Close())

	for path, want := range map[string]error{newer: ErrNewer, foreign: ErrForeign} {
		before, err := os.ReadFile(path)
		must(t, err)
		for name, open := range map[string]func() (*Store, error){
			"Open":         func() (*Store, error) { return Open(path, Options{}) },
			"OpenReadOnly": func() (*Store, error) { return OpenReadOnly(path) },
		} {
			if _, err := open(); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s of %s: got %v, want %v with the path", name, filepath.Base(path), err, want)
			}
		}
		after, err := os.ReadFile(path)
		must(t, err)
		if string(after) != string(before) {
			t.Errorf("%s was changed", filepath.Base(path))
		}
		if others, err := filepath.Glob(path + ".*"); err != nil || len(others) != 0 {
			t.Errorf("beside %s: got %q, want nothing", filepath.Base(path), others)
		}
	}

	older := filepath.Join(t.TempDir(), "older.db")
	db, err = bolt.Open(older, 0o600, nil)
	must(t, err)
	must(t, db.Close())
	if _, err := OpenReadOnly(older); !errors.Is(err, ErrOlder) {
		t.Errorf("reading an older version: got %v, want ErrOlder", err)
	}
	openAt(t, older, Options{})
}
