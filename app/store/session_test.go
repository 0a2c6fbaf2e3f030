package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ionclaw-tray/app/session"
)

func TestAppendKeepsTheRow(t *testing.T) {
	c := &clock{t: at(100)}
	s := open(t, Options{now: c.now})
	k := key(1)
	s.CreateSession(k, "main").must(t)
	got, err := s.Session(k)
	want := session.Info{Key: k, Channel: "mcp", DisplayName: "MCP 00000000", Agent: "main", CreatedAt: at(100), UpdatedAt: at(100)}
	if err != nil || got != want {
		t.Errorf("a new chat: got %+v, %v; want %+v", got, err, want)
	}

	u := &session.Usage{Input: 10, Output: 5, CacheRead: 2, CacheWrite: 1}
	first := user("  How do\n\nI  test? ")
	first.Timestamp = at(101)
	answer := assistant("Write tests.")
	answer.Timestamp, answer.Usage = at(105), u
	s.Append(k, "main", first, answer).must(t)
	again := assistant("Or not.")
	again.Timestamp, again.Usage = at(106), u
	s.Append(k, "poet", again).must(t)
	s.Append(k, "poet", user("Another name?")).must(t)
	got, err = s.Session(k)
	want = session.Info{
		Key: k, Channel: "mcp", DisplayName: "How do I test?", Agent: "poet", CreatedAt: at(100), UpdatedAt: at(106), Messages: 4,
		Usage: session.Usage{Input: 20, Output: 10, CacheRead: 4, CacheWrite: 2},
	}
	if err != nil || got != want {
		t.Errorf("after messages: got %+v, %v; want %+v", got, err, want)
	}

	page, err := s.Sessions(SessionQuery{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0] != want {
		t.Errorf("list: got %+v, %v; want one row a chat: %+v", page, err, want)
	}
	if got, err := s.StoredKey(k); err != nil || got != "agent:main:"+k.String() {
		t.Errorf("stored key: got %q, %v; want that of the agent who opened it", got, err)
	}
}

func TestFirstVisibleUserMessageNamesTheChat(t *testing.T) {
	s := open(t, Options{})
	k := key(1)
	s.Append(k, "", session.Message{Role: session.RoleSystem, Content: "be kind"}, user(" \u200b\n"), assistant("What?")).must(t)
	if got, _ := s.Session(k); got.DisplayName != "MCP 00000000" {
		t.Errorf("name without visible user text: got %q, want the makeshift one", got.DisplayName)
	}
	s.Append(k, "", user("Hello")).must(t)
	s.Append(k, "", user("Bye")).must(t)
	if got, _ := s.Session(k); got.DisplayName != "Hello" {
		t.Errorf("name: got %q, want %q", got.DisplayName, "Hello")
	}
}

func TestChatOpenedWithoutAgentIsAdoptedByItsFirst(t *testing.T) {
	s := open(t, Options{})
	k := key(1)
	s.Append(k, "", user("Hello")).must(t)
	if got, _ := s.StoredKey(k); got != "agent::"+k.String() {
		t.Errorf("stored key before: got %q", got)
	}
	s.Append(k, "main", assistant("Hi")).must(t)
	s.Append(k, "poet", assistant("Ho")).must(t)
	if got, _ := s.StoredKey(k); got != "agent:main:"+k.String() {
		t.Errorf("stored key after: got %q, want that of main", got)
	}
	page, err := s.Sessions(SessionQuery{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Messages != 3 {
		t.Errorf("list: got %+v, %v; want one chat with 3 messages", page, err)
	}
}

func TestRename(t *testing.T) {
	c := &clock{t: at(0)}
	s := open(t, Options{now: c.now})
	ctx := context.Background()
	s.Append(key(1), "main", user("one")).must(t)
	s.Append(key(2), "main", user("two")).must(t)
	c.set(at(50))
	must(t, s.RenameSession(ctx, key(1), " Mon\nÉté "))
	s.CreateSession(key(3), "main").must(t)
	must(t, s.RenameSession(ctx, key(3), "Given"))
	s.Append(key(3), "main", user("not the name")).must(t)
	page, err := s.Sessions(SessionQuery{})
	must(t, err)
	if got, want := names3(page), []string{"Given", "two", "Mon Été"}; !slices.Equal(got, want) {
		t.Errorf("list after renaming: got %q, want the same order, %q", got, want)
	}
	if got := page.Sessions[2].UpdatedAt; got != at(0) {
		t.Errorf("updated_at: got %v, want it unchanged, %v", got, at(0))
	}
	if found, err := s.Sessions(SessionQuery{Query: "ete"}); err != nil || !slices.Equal(names3(found), []string{"Mon Été"}) {
		t.Errorf("search for the new name: got %q, %v", names3(found), err)
	}
	must(t, s.RenameSession(ctx, key(3), "Other"))
	if found, err := s.Sessions(SessionQuery{Query: "given"}); err != nil || len(found.Sessions) != 0 {
		t.Errorf("search for the old name: got %q, %v; want none", names3(found), err)
	}
	if err := s.RenameSession(ctx, key(9), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown chat: got %v, want ErrNotFound", err)
	}
	if err := s.RenameSession(ctx, key(1), "\t"); !errors.Is(err, ErrInvalid) {
		t.Errorf("empty name: got %v, want ErrInvalid", err)
	}
}

func names3(p SessionPage) []string {
	out := []string{}
	for _, s := range p.Sessions {
		out = append(out, s.DisplayName)
	}
	return out
}

func TestDelete(t *testing.T) {
	s := open(t, Options{})
	ctx := context.Background()
	for i := range 3 {
		s.Append(key(i), "main", user("hello"), assistant("hi")).must(t)
	}
	found, err := s.DeleteSession(ctx, key(1))
	if err != nil || !found {
		t.Fatalf("deleting: got %v, %v; want true", found, err)
	}
	if found, err := s.DeleteSession(ctx, key(1)); err != nil || found {
		t.Errorf("deleting again: got %v, %v; want false", found, err)
	}
	if _, err := s.Session(key(1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("row: got %v, want ErrNotFound", err)
	}
	if _, err := s.Messages(key(1), MessageQuery{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("messages: got %v, want ErrNotFound", err)
	}
	if got, want := s.count(t, bucketMessages), 4; got != want {
		t.Errorf("stored messages: got %d, want those of the two others, %d", got, want)
	}
	s.Append(key(1), "main", assistant("late")).must(t)
	if msgs, err := s.Messages(key(1), MessageQuery{}); err != nil || !slices.Equal(contents(msgs), []string{"1 late"}) {
		t.Errorf("a late message: got %q, %v; want a chat begun anew", contents(msgs), err)
	}
	for _, i := range []int{0, 2} {
		if msgs, err := s.Messages(key(i), MessageQuery{}); err != nil || len(msgs) != 2 {
			t.Errorf("neighbour %d: got %d messages, %v; want 2", i, len(msgs), err)
		}
	}
}

func TestChannelsShareNothing(t *testing.T) {
	s := open(t, Options{})
	a := key(1)
	b := session.Key{Channel: session.ChannelDesktop, ID: a.ID}
	s.Append(a, "main", user("from the IDE")).must(t)
	s.Append(b, "main", user("from the window")).must(t)
	if msgs, err := s.Messages(b, MessageQuery{}); err != nil || !slices.Equal(contents(msgs), []string{"1 from the window"}) {
		t.Errorf("messages: got %q, %v", contents(msgs), err)
	}
	if p, err := s.Sessions(SessionQuery{Channel: "desktop"}); err != nil || !slices.Equal(names3(p), []string{"from the window"}) {
		t.Errorf("channel filter: got %q, %v", names3(p), err)
	}
	if p, err := s.Sessions(SessionQuery{Channel: "desk"}); err != nil || len(p.Sessions) != 0 {
		t.Errorf("part of a channel's name: got %q, %v; want none", names3(p), err)
	}
}

func TestRefusesBadKeysAndNames(t *testing.T) {
	s := open(t, Options{})
	bad := []struct {
		key   session.Key
		agent string
	}{
		{session.Key{}, "main"},
		{session.Key{Channel: "web", ID: key(1).ID}, "main"},
		{session.Key{Channel: "mcp", ID: strings.ToUpper("abcdef00-0000-4000-8000-000000000000")}, "main"},
		{session.Key{Channel: "mcp", ID: "../../etc"}, "main"},
		{key(1), "a:b"},
		{key(1), "a\x00b"},
		{key(1), strings.Repeat("a", maxAgentName+1)},
	}
	for _, b := range bad {
		if err := s.Append(b.key, b.agent, user("x")).Wait(context.Background()); err == nil {
			t.Errorf("Append(%q, %.20q): got no error", b.key, b.agent)
		}
		if err := s.CreateSession(b.key, b.agent).Wait(context.Background()); err == nil {
			t.Errorf("CreateSession(%q, %.20q): got no error", b.key, b.agent)
		}
	}
	if p, err := s.Sessions(SessionQuery{}); err != nil || len(p.Sessions) != 0 {
		t.Errorf("list: got %q, %v; want none", names3(p), err)
	}
}

func TestClockStepsDoNotReorder(t *testing.T) {
	c := &clock{t: at(3600)}
	s := open(t, Options{now: c.now})
	year2000 := session.At(at(0).AddDate(-26, 0, 0))
	steps := []session.Time{at(3600), at(0), at(7200), year2000, at(10)}
	s.CreateSession(key(1), "main").must(t)
	s.CreateSession(key(2), "main").must(t)
	before, _ := s.Session(key(1))
	for i, now := range steps {
		c.set(now)
		s.Append(key(1), "main", user(string(rune('a'+i)))).must(t)
		info, err := s.Session(key(1))
		must(t, err)
		if info.UpdatedAt.Before(before.UpdatedAt.Time) || info.UpdatedAt.Before(info.CreatedAt.Time) {
			t.Errorf("clock at %v: updated_at %v after %v, created_at %v", now, info.UpdatedAt, before.UpdatedAt, info.CreatedAt)
		}
		before = info
	}
	msgs, err := s.Messages(key(1), MessageQuery{})
	if want := []string{"1 a", "2 b", "3 c", "4 d", "5 e"}; err != nil || !slices.Equal(contents(msgs), want) {
		t.Errorf("messages: got %q, %v; want %q", contents(msgs), err, want)
	}
	c.set(year2000)
	s.Append(key(2), "main", user("last")).must(t)
	page, err := s.Sessions(SessionQuery{})
	if want := []string{"last", "a"}; err != nil || !slices.Equal(names3(page), want) {
		t.Errorf("list: got %q, %v; want %q", names3(page), err, want)
	}
}

func TestFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "ionclaw.db")
	s := openAt(t, path, Options{})
	s.Append(key(1), "main", user("x")).must(t)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		info, err := os.Stat(p)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", p, got, want)
		}
	}
	must(t, s.Close())
	must(t, os.Chmod(path, 0o666))
	openAt(t, path, Options{})
	info, err := os.Stat(path)
	must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("an open file is made private: got mode %o, want 600", got)
	}
}

func TestMCPSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	data := []byte("one")
	s.PutMCPSession("a", data)
	data[0] = 'X'
	s.PutMCPSession("b", []byte("two"))
	s.PutMCPSession("c", nil)
	s.PutMCPSession("b", []byte("three"))
	s.DeleteMCPSessions("c", "unknown").must(t)
	must(t, s.Close())
	s = openAt(t, path, Options{})
	got, err := s.MCPSessions()
	if want := map[string][]byte{"a": []byte("one"), "b": []byte("three")}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("records: got %q, %v; want %q", got, err, want)
	}
	s.ClearMCPSessions().must(t)
	s.ClearMCPSessions().must(t)
	if got, err := s.MCPSessions(); err != nil || len(got) != 0 {
		t.Errorf("after clearing: got %q, %v; want none", got, err)
	}
	s.PutMCPSession("d", []byte("four")).must(t)
	for _, p := range []*Pending{s.PutMCPSession("", nil), s.PutMCPSession(strings.Repeat("x", maxMCPID+1), nil), s.PutMCPSession("e", make([]byte, MaxMCPRecord+1))} {
		if err := p.Wait(context.Background()); !errors.Is(err, ErrInvalid) {
			t.Errorf("a record out of bounds: got %v, want ErrInvalid", err)
		}
	}
	if got, err := s.MCPSessions(); err != nil || len(got) != 1 {
		t.Errorf("after clearing and one more: got %q, %v; want it alone", got, err)
	}
}
