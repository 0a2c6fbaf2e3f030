package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/session"
)

// count counts the keys of a bucket.
func (s *Store) count(tb testing.TB, bucket []byte) int {
	tb.Helper()
	n := 0
	must(tb, s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(_, _ []byte) error { n++; return nil })
	}))
	return n
}

func TestListPages(t *testing.T) {
	s := open(t, Options{})
	const total = 25
	for i := range total {
		s.Append(key(i), "main", user(fmt.Sprint(i)))
	}
	s.CreateSession(key(0), "main").must(t)
	var got []string
	pages := 0
	for q := (SessionQuery{Limit: 5}); ; pages++ {
		p, err := s.Sessions(q)
		must(t, err)
		if len(p.Sessions) != 5 {
			t.Fatalf("page %d: got %d rows, want 5", pages, len(p.Sessions))
		}
		got = append(got, names3(p)...)
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	var want []string
	for i := total - 1; i >= 0; i-- {
		want = append(want, fmt.Sprint(i))
	}
	if !slices.Equal(got, want) || pages != 4 {
		t.Errorf("all pages: got %q in %d steps, want %q in 4", got, pages, want)
	}
	if p, err := open(t, Options{}).Sessions(SessionQuery{}); err != nil || p.Sessions == nil || len(p.Sessions) != 0 || p.Next != "" {
		t.Errorf("an empty database: got %+v, %v; want an empty list that is not nil", p, err)
	}
}

func TestPageLimits(t *testing.T) {
	s := open(t, Options{})
	for i := range MaxSessions + 5 {
		s.CreateSession(key(i), "main")
	}
	s.CreateSession(key(0), "main").must(t)
	for limit, want := range map[int]int{-1: DefaultSessions, 0: DefaultSessions, 7: 7, 1 << 30: MaxSessions} {
		if p, err := s.Sessions(SessionQuery{Limit: limit}); err != nil || len(p.Sessions) != want || p.Next == "" {
			t.Errorf("limit %d: got %d rows, next %q, %v; want %d", limit, len(p.Sessions), p.Next, err, want)
		}
	}
}

// Rows that do not change are listed exactly once, whatever happens to the others between two pages.
func TestListWhileRowsMove(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		s := open(t, Options{})
		const total = 60
		for i := range total {
			s.Append(key(i), "main", user(fmt.Sprint(i)))
		}
		s.CreateSession(key(0), "main").must(t)
		seen, moved := map[string]int{}, map[string]bool{}
		for q := (SessionQuery{Limit: 7}); ; {
			p, err := s.Sessions(q)
			must(t, err)
			for _, r := range p.Sessions {
				seen[r.DisplayName]++
			}
			if q.Cursor = p.Next; q.Cursor == "" {
				break
			}
			for range 3 {
				i := rnd.IntN(total)
				moved[fmt.Sprint(i)] = true
				if rnd.IntN(3) == 0 {
					_, err := s.DeleteSession(context.Background(), key(i))
					must(t, err)
				} else {
					s.Append(key(i), "main", user(fmt.Sprint(i))).must(t)
				}
			}
		}
		for i := range total {
			name := fmt.Sprint(i)
			if n := seen[name]; !moved[name] && n != 1 || n > 1 {
				t.Errorf("round %d: row %s (moved: %v) was listed %d times", round, name, moved[name], n)
			}
		}
		must(t, s.Close())
	}
}

func TestSearch(t *testing.T) {
	s := open(t, Options{})
	for i, name := range []string{"Straße nach Köln", "Déjà vu", "ΟΔΥΣΣΕΥΣ", "İstanbul", "ﬁle system", "plain text", "漢字かな", "e\u0301clair"} {
		k := key(i)
		if i%2 == 1 {
			k.Channel = session.ChannelCLI
		}
		s.Append(k, "main", user(name)).must(t)
	}
	tests := []struct {
		query, channel string
		want           []string
	}{
		{"STRASSE", "", []string{"Straße nach Köln"}},
		{"koln", "", []string{"Straße nach Köln"}},
		{"deja", "", []string{"Déjà vu"}},
		{"DÉJÀ", "", []string{"Déjà vu"}},
		{"οδυσσευς", "", []string{"ΟΔΥΣΣΕΥΣ"}},
		{"istanbul", "", []string{"İstanbul"}},
		{"FILE", "", []string{"ﬁle system"}},
		{" text ", "", []string{"plain text"}},
		{"字か", "", []string{"漢字かな"}},
		{"éc", "", []string{"e\u0301clair"}},
		{"text", "cli", []string{"plain text"}},
		{"text", "mcp", []string{}},
		{"nothing", "", []string{}},
		{"\x00", "", nil},
		{" ", "", nil},
	}
	for _, tt := range tests {
		p, err := s.Sessions(SessionQuery{Query: tt.query, Channel: tt.channel})
		must(t, err)
		if tt.want == nil {
			if len(p.Sessions) != 8 {
				t.Errorf("query %q: got %d rows, want all", tt.query, len(p.Sessions))
			}
			continue
		}
		if got := names3(p); !slices.Equal(got, tt.want) {
			t.Errorf("query %q in channel %q: got %q, want %q", tt.query, tt.channel, got, tt.want)
		}
	}
	if _, err := s.Sessions(SessionQuery{Query: strings.Repeat("x", MaxQuery+1)}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint(MaxQuery)) {
		t.Errorf("a query that is too long: got %v, want ErrInvalid that names the limit", err)
	}
}

// A chat is found by what a person or an agent said in it, not by what its tools returned.
func TestSearchInMessages(t *testing.T) {
	s := open(t, Options{})
	say := func(n int, role session.Role, text string) {
		s.Append(key(n), "main", session.Message{Role: role, Content: text}).must(t)
	}
	say(0, session.RoleUser, "first")
	say(0, session.RoleAssistant, "The Crème brûlée is ready")
	say(1, session.RoleUser, "second")
	say(1, session.RoleTool, "creme brulee from a tool")
	say(1, session.RoleAssistant, "A <plain> \"Answer\"\nof two lines")
	say(2, session.RoleUser, "third, creme brulee in the name")
	for query, want := range map[string][]string{
		"CREME BRULEE": {"third, creme brulee in the name", "first"},
		"brûlée":       {"third, creme brulee in the name", "first"},
		"<PLAIN> \"a":  {"second"},
		"of two":       {"second"},
		"a tool":       {},
		"role":         {},
		"É":            {"third, creme brulee in the name", "second", "first"},
	} {
		p, err := s.Sessions(SessionQuery{Query: query})
		must(t, err)
		if got := names3(p); !slices.Equal(got, want) || p.Next != "" {
			t.Errorf("query %q: got %q, next %q; want %q", query, got, p.Next, want)
		}
	}
}

// A page of a search ends when it has read enough; the cursor goes on, and nothing is missed or found twice.
func TestSearchEndsAPageWhenItHasReadEnough(t *testing.T) {
	s := open(t, Options{search: 10 * searchChat})
	for i := range 60 {
		s.Append(key(i), "main", user(fmt.Sprint("chat ", i)), session.Message{Role: session.RoleAssistant, Content: []string{"hay", "hay", "a needle"}[i%3] + strings.Repeat(" hay", 200)})
	}
	s.CreateSession(key(0), "main").must(t)
	q, pages, empty := SessionQuery{Query: "NEEDLE"}, 0, 0
	var got []string
	for {
		p, err := s.Sessions(q)
		must(t, err)
		got = append(got, names3(p)...)
		pages++
		if len(p.Sessions) == 0 {
			empty++
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
		if pages > 60 {
			t.Fatal("no end of pages")
		}
	}
	var want []string
	for i := 59; i >= 0; i-- {
		if i%3 == 2 {
			want = append(want, fmt.Sprint("chat ", i))
		}
	}
	if !slices.Equal(got, want) || pages < 5 {
		t.Errorf("got %d pages with %q, want several with %q", pages, got, want)
	}
}

func TestSearchPages(t *testing.T) {
	s := open(t, Options{})
	for i := range 30 {
		s.Append(key(i), "main", user([]string{"Apfel", "Birne", "Äpfel"}[i%3]))
	}
	s.CreateSession(key(0), "main").must(t)
	q := SessionQuery{Limit: 8, Query: "apfel"}
	var sizes []int
	for {
		p, err := s.Sessions(q)
		must(t, err)
		sizes = append(sizes, len(p.Sessions))
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	if want := []int{8, 8, 4}; !slices.Equal(sizes, want) {
		t.Errorf("pages of a search: got %v, want %v", sizes, want)
	}
}

func TestBadCursors(t *testing.T) {
	s := open(t, Options{})
	for i := range 5 {
		s.Append(key(i), "main", user("x"))
	}
	s.CreateSession(key(0), "main").must(t)
	p, err := s.Sessions(SessionQuery{Limit: 2})
	must(t, err)
	good := p.Next
	for _, q := range []SessionQuery{
		{Cursor: "x"}, {Cursor: "!!!"}, {Cursor: good + "A"}, {Cursor: good[1:]}, {Cursor: strings.Repeat("A", 16)},
		{Cursor: strings.Repeat("A", 1<<20)}, {Cursor: good, Channel: "mcp"}, {Cursor: good, Query: "x"}, {Cursor: good + "\n"},
	} {
		if _, err := s.Sessions(q); !errors.Is(err, ErrBadCursor) {
			t.Errorf("cursor %.40q, channel %q, query %q: got %v, want ErrBadCursor", q.Cursor, q.Channel, q.Query, err)
		}
	}
	if _, err := s.Tasks(TaskQuery{Cursor: good}); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor of another list: got %v, want ErrBadCursor", err)
	}
	if p, err := s.Sessions(SessionQuery{Cursor: good, Limit: 200}); err != nil || len(p.Sessions) != 3 {
		t.Errorf("another limit with the same cursor: got %d rows, %v; want 3", len(p.Sessions), err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(encodeCursor(5, "sessions", "", ""))
	f.Fuzz(func(t *testing.T, s string) {
		n, err := decodeCursor(s, "sessions", "", "")
		if err == nil && s != "" && encodeCursor(n, "sessions", "", "") != s {
			t.Errorf("%q was accepted as %d, whose cursor is %q", s, n, encodeCursor(n, "sessions", "", ""))
		}
	})
}
