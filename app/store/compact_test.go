package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func TestCompactsAtStartWhenMoreThanHalfIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	text := strings.Repeat("x", 100_000)
	for i := range 200 {
		s.Append(key(i), "main", user(text))
	}
	s.Append(key(500), "main", user("kept")).must(t)
	must(t, s.Close())
	before := size(t, path)
	must(t, openAt(t, path, Options{}).Close())
	if got := size(t, path); got != before {
		t.Errorf("a full database: got %d bytes after a start, want %d", got, before)
	}
	s = openAt(t, path, Options{})
	for i := range 199 {
		_, err := s.DeleteSession(context.Background(), key(i))
		must(t, err)
	}
	must(t, s.Close())
	if got := size(t, path); got < before {
		t.Errorf("while in use: got %d bytes, want it left alone, %d", got, before)
	}
	must(t, os.WriteFile(path+".compact", []byte("left by a crash"), 0o600))

	s = openAt(t, path, Options{})
	if got := size(t, path); got > before/10 {
		t.Errorf("after a start: got %d bytes of %d, want much less", got, before)
	}
	info, err := os.Stat(path)
	must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode: got %o, want 600", got)
	}
	if _, err := OpenReadOnly(path); err == nil {
		t.Error("the compacted database is not locked")
	}
	s.Append(key(500), "main", user("more")).must(t)
	s.Append(key(501), "main", user("new")).must(t)
	must(t, s.Close())
	s = openAt(t, path, Options{})
	msgs, err := s.Messages(key(500), MessageQuery{})
	if want := []string{"1 kept", "2 more"}; err != nil || !slices.Equal(contents(msgs), want) {
		t.Errorf("messages: got %q, %v; want %q", contents(msgs), err, want)
	}
	p, err := s.Sessions(SessionQuery{Limit: 2})
	if want := []string{"new", "kept"}; err != nil || !slices.Equal(names3(p), want) {
		t.Errorf("list: got %q, %v; want %q: the counters have to go on", names3(p), err, want)
	}
	if others, _ := filepath.Glob(path + ".*"); len(others) != 0 {
		t.Errorf("left over: %q", others)
	}
}

func TestSmallDatabaseIsNotCompacted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	for i := range 40 {
		s.Append(key(i), "main", user(strings.Repeat("x", 100_000)))
	}
	s.CreateSession(key(0), "main").must(t)
	for i := range 40 {
		_, err := s.DeleteSession(context.Background(), key(i))
		must(t, err)
	}
	must(t, s.Close())
	before, err := os.Stat(path)
	must(t, err)
	s = openAt(t, path, Options{})
	after, err := os.Stat(path)
	must(t, err)
	if !os.SameFile(before, after) || before.Size() != after.Size() {
		t.Errorf("a database of %d bytes, mostly free, was replaced by one of %d", before.Size(), after.Size())
	}
	must(t, s.Close())
	must(t, openAt(t, path, Options{compact: 1 << 20}).Close())
	if got := size(t, path); got >= before.Size() {
		t.Errorf("with a smaller limit: got %d bytes, want less than %d", got, before.Size())
	}
}
