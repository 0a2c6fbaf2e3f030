package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/task"
)

// startChild runs one of the children's jobs in a process of its own.
func startChild(t *testing.T, job, path string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+job, pathVariable+"="+path)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, in, bufio.NewScanner(out)
}

const pathVariable = "STORE_TEST_PATH"

func childFailed(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// holdChild keeps the database open until its input ends.
func holdChild() {
	s, err := Open(os.Getenv(pathVariable), Options{})
	childFailed(err)
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	childFailed(s.Close())
}

func TestOneProgramAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	child, in, out := startChild(t, "hold", path)
	if !out.Scan() {
		t.Fatal("the child did not open the database")
	}
	for name, open := range map[string]func() (*Store, error){
		"writing": func() (*Store, error) { return Open(path, Options{}) },
		"reading": func() (*Store, error) { return OpenReadOnly(path) },
	} {
		begin := time.Now()
		_, err := open()
		if took := time.Since(begin); !errors.Is(err, ErrInUse) || took > time.Second {
			t.Errorf("%s while another program writes: got %v after %v, want ErrInUse within a second", name, err, took)
		}
	}
	must(t, in.Close())
	must(t, child.Wait())
	s := openAt(t, path, Options{})
	if s.Recovered() != "" {
		t.Errorf("Recovered: got %q, want none", s.Recovered())
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	if _, err := OpenReadOnly(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no database: got %v, want ErrNotExist", err)
	}
	s := openAt(t, path, Options{})
	s.Append(key(1), "main", user("x"))
	s.PutTask(newTask("t", task.Running))
	must(t, s.Close())
	before, err := os.ReadFile(path)
	must(t, err)

	one, err := OpenReadOnly(path)
	must(t, err)
	two, err := OpenReadOnly(path)
	must(t, err)
	if _, err := Open(path, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("writing while others read: got %v, want ErrInUse", err)
	}
	for _, r := range []*Store{one, two} {
		if msgs, err := r.Messages(key(1), MessageQuery{}); err != nil || len(msgs) != 1 {
			t.Errorf("reading: got %d messages, %v; want 1", len(msgs), err)
		}
		if p, err := r.Sessions(SessionQuery{}); err != nil || len(p.Sessions) != 1 {
			t.Errorf("listing: got %d chats, %v; want 1", len(p.Sessions), err)
		}
		if err := r.Append(key(1), "main", user("y")).Wait(context.Background()); !errors.Is(err, ErrReadOnly) {
			t.Errorf("writing: got %v, want ErrReadOnly", err)
		}
		if _, err := r.InterruptTasks("x"); !errors.Is(err, ErrReadOnly) {
			t.Errorf("interrupting: got %v, want ErrReadOnly", err)
		}
		must(t, r.Close())
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if string(before) != string(after) {
		t.Error("reading changed the file")
	}
	openAt(t, path, Options{})
}

// sample makes a database with some of everything and returns its bytes.
func sample(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{now: (&clock{t: at(0)}).now})
	for i := range 200 {
		s.Append(key(i%20), "main", user(fmt.Sprintf("message %d %s", i, strings.Repeat("x", i*20))), assistant("answer"))
		s.PutTask(newTask(fmt.Sprint(i), []task.State{task.Done, task.Running}[i%2]))
	}
	must(t, s.Close())
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func TestDamagedDatabaseIsSetAside(t *testing.T) {
	good := sample(t)
	m, err := readMeta(strings.NewReader(string(good)))
	must(t, err)
	pageSize := int(m.pageSize)
	change := func(at int, with ...byte) []byte {
		b := slices.Clone(good)
		copy(b[at:], with)
		return b
	}
	damaged := map[string][]byte{
		"garbage":                   []byte(strings.Repeat("this is not a database\n", 1000)),
		"one byte":                  {0},
		"zeroes":                    make([]byte, 1<<16),
		"half a page":               good[:pageSize/2],
		"roots only":                good[:2*pageSize],
		"cut in the middle":         good[:len(good)/2/pageSize*pageSize],
		"cut within a page":         good[:(int(m.pages)-1)*pageSize+100],
		"both roots overwritten":    append(make([]byte, 2*pageSize), good[2*pageSize:]...),
		"root tree zeroed":          change(int(m.root)*pageSize, make([]byte, pageSize)...),
		"free list zeroed":          change(int(m.freelist)*pageSize, make([]byte, pageSize)...),
		"free list of random bytes": change(int(m.freelist)*pageSize+pageHeader, randomBytes(pageSize-pageHeader)...),
		"free list without end":     change(int(m.freelist)*pageSize+10, 0xff, 0xff),
	}
	for name, bad := range damaged {
		path := filepath.Join(t.TempDir(), "ionclaw.db")
		must(t, os.WriteFile(path, bad, 0o600))
		if _, err := OpenReadOnly(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: reading only: got %v, want ErrDamaged", name, err)
		}
		s, err := Open(path, Options{now: (&clock{t: at(0)}).now})
		if err != nil {
			t.Errorf("%s: got %v, want a new database", name, err)
			continue
		}
		if want := path + ".corrupt-20260301T120000Z"; s.Recovered() != want {
			t.Errorf("%s: Recovered: got %q, want %q", name, s.Recovered(), want)
		}
		if kept, err := os.ReadFile(s.Recovered()); err != nil || string(kept) != string(bad) {
			t.Errorf("%s: the damaged file: got %d bytes, %v; want the %d as they were", name, len(kept), err, len(bad))
		}
		s.Append(key(1), "main", user("x")).must(t)
		must(t, s.Close())
		s, err = Open(path, Options{})
		must(t, err)
		if msgs, err := s.Messages(key(1), MessageQuery{}); s.Recovered() != "" || err != nil || len(msgs) != 1 {
			t.Errorf("%s: opened again: got %d messages, %v, recovered %q", name, len(msgs), err, s.Recovered())
		}
		must(t, s.Close())
	}
}

func randomBytes(n int) []byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.UintN(256))
	}
	return b
}

func TestSetAsideNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	var kept []string
	for i := range 3 {
		must(t, os.WriteFile(path, []byte(fmt.Sprintf("damaged %d", i)), 0o600))
		s := openAt(t, path, Options{now: (&clock{t: at(0)}).now})
		kept = append(kept, s.Recovered())
		must(t, s.Close())
	}
	for i, p := range kept {
		if b, err := os.ReadFile(p); err != nil || string(b) != fmt.Sprintf("damaged %d", i) {
			t.Errorf("file %d: got %q, %v", i, b, err)
		}
	}
}

// One torn root page is what a power cut may leave; the other one still holds the state before.
func TestOneTornRootIsNoDamage(t *testing.T) {
	good := sample(t)
	m, err := readMeta(strings.NewReader(string(good)))
	must(t, err)
	for torn := range 2 {
		b := slices.Clone(good)
		copy(b[torn*int(m.pageSize)+pageHeader+20:], randomBytes(30))
		path := filepath.Join(t.TempDir(), "ionclaw.db")
		must(t, os.WriteFile(path, b, 0o600))
		s := openAt(t, path, Options{})
		if s.Recovered() != "" {
			t.Errorf("root %d torn: the database was set aside", torn)
		}
		if p, err := s.Sessions(SessionQuery{}); err != nil || len(p.Sessions) == 0 {
			t.Errorf("root %d torn: got %d chats, %v", torn, len(p.Sessions), err)
		}
	}
}

// Whatever is wrong inside, the program lives: damage is found at open, or is an error of the call that meets it.
func TestRandomDamageNeverCrashes(t *testing.T) {
	good := sample(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	aside := 0
	for i := range 60 {
		b := slices.Clone(good)
		for range 1 + rnd.IntN(4) {
			at := rnd.IntN(len(b))
			n := 1 + rnd.IntN(200)
			for j := at; j < min(at+n, len(b)); j++ {
				b[j] = byte(rnd.UintN(256))
			}
		}
		path := filepath.Join(dir, fmt.Sprint(i), "ionclaw.db")
		must(t, os.Mkdir(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, b, 0o600))
		s, err := Open(path, Options{})
		if err != nil {
			if !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
				t.Errorf("round %d: got %v, want it set aside or usable", i, err)
			}
			continue
		}
		if s.Recovered() != "" {
			aside++
		}
		exercise(s)
		_ = s.Close()
	}
	if aside == 0 {
		t.Error("no damage was noticed at all")
	}
}

// exercise calls everything; errors are allowed.
func exercise(s *Store) {
	ctx := context.Background()
	_, _ = s.InterruptTasks("x")
	for i := range 20 {
		_, _ = s.Session(key(i))
		_, _ = s.Messages(key(i), MessageQuery{})
		s.Append(key(i), "main", user("x"))
		_, _ = s.Tasks(TaskQuery{Session: key(i)})
	}
	_, _ = s.Sessions(SessionQuery{Query: "message"})
	_, _ = s.Tasks(TaskQuery{State: task.Done})
	_, _ = s.DeleteSession(ctx, key(3))
	_, _ = s.MCPSessions()
	_ = s.ClearMCPSessions().Wait(ctx)
}

// Without a clean end the whole tree is checked.
func TestUncleanEndIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	s := openAt(t, path, Options{})
	for i := range 300 {
		s.Append(key(i), "main", user(strings.Repeat("x", 500)))
	}
	s.CreateSession(key(1), "main").must(t)
	b, err := os.ReadFile(path) // as a crash at this moment would leave it
	must(t, err)
	must(t, s.Close())
	m, err := readMeta(strings.NewReader(string(b)))
	must(t, err)
	leaf := leafOf(t, b, m)
	copy(b[leaf*int(m.pageSize)+pageHeader:], randomBytes(64))
	other := filepath.Join(t.TempDir(), "ionclaw.db")
	must(t, os.WriteFile(other, b, 0o600))
	if s := openAt(t, other, Options{}); s.Recovered() == "" {
		t.Error("a broken page after an unclean end was not found")
	}
}

// leafOf finds a leaf page that is in use and holds more than one element.
func leafOf(t *testing.T, b []byte, m meta) int {
	t.Helper()
	w := &pageWalk{f: strings.NewReader(string(b)), m: m, seen: make([]uint64, m.pages/64+1), todo: []uint64{m.root}}
	for len(w.todo) > 0 {
		id := w.todo[0]
		w.todo = w.todo[1:]
		must(t, w.visit(id))
		if p := parsePage(b[int64(id)*m.pageSize:]); id != m.root && p.flags == flagLeaf && p.count > 2 {
			return int(id)
		}
	}
	t.Fatal("no such page")
	return 0
}

func TestCleanEndIsMarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.db")
	clean := func() bool {
		t.Helper()
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
		must(t, err)
		defer db.Close()
		found := false
		must(t, db.View(func(tx *bolt.Tx) error {
			found = tx.Bucket(bucketMeta).Get(metaClean) != nil
			return nil
		}))
		return found
	}
	s := openAt(t, path, Options{})
	s.CreateSession(key(1), "main")
	must(t, s.Close())
	if !clean() {
		t.Error("after Close: got no mark")
	}
	s = openAt(t, path, Options{})
	s.CreateSession(key(2), "main").must(t)
	must(t, s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(metaClean) != nil {
			t.Error("while writing: the mark is still there")
		}
		return nil
	}))
	must(t, s.Close())
	s = openAt(t, path, Options{})
	must(t, s.Close())
	if !clean() {
		t.Error("after a run without writes: got no mark")
	}
}

func TestUnusablePaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "folder.db"), 0o700))
	for name, path := range map[string]string{
		"a file where the folder should be": filepath.Join(file, "ionclaw.db"),
		"a folder where the file should be": filepath.Join(dir, "folder.db"),
	} {
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, want an error that names the path", name, err)
		}
	}
}
