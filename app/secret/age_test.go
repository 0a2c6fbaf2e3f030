package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/gofrs/flock"
)

// newIdentity writes an identity file as age-keygen does.
func newIdentity(t *testing.T) string {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "identity")
	write(t, path, "# public key: "+id.Recipient().String()+"\n"+id.String()+"\n")
	return path
}

// headless makes a vault without keyring.
func headless(t *testing.T, path, identity string, ask func(context.Context) (string, error)) *Vault {
	t.Helper()
	m := newMemory()
	m.fail = noService()
	kv := map[string]string{}
	if identity != "" {
		kv[envIdentity] = identity
	}
	return vault(t, Options{Keyring: m, AgePath: path, Passphrase: ask}, kv)
}

func TestAgeFileOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "credentials.age")
	identity := newIdentity(t)
	v := headless(t, path, identity, nil)
	wantKind(t, v.Set(t.Context(), "a", testKey), nil)
	wantKind(t, v.Set(t.Context(), "b", "second key"), nil)

	for p, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + ".lock": 0o600} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %o", p, info.Mode(), err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v, want the file and its lock only", entries, err)
	}
	content := read(t, path)
	for _, part := range []string{testKey, "second key", `"a"`} {
		if strings.Contains(content, part) {
			t.Errorf("the file has %q in plain text", part)
		}
	}

	// What another program with the identity sees.
	ids, err := readIdentity(identity)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := decrypt([]byte(content), ids...)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]string
	if err := json.Unmarshal(plain, &keys); err != nil || keys["a"] != testKey || len(keys) != 2 {
		t.Errorf("got %d keys, %v, want a JSON object with both", len(keys), err)
	}
	if strings.Contains(v.redact.Redact(ids[0].(fmt.Stringer).String()), "AGE-SECRET-KEY") {
		t.Error("the redactor does not know the identity")
	}
}

func TestArmoredFileOfTheAgeProgram(t *testing.T) {
	identity := newIdentity(t)
	ids, err := readIdentity(identity)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := armor.NewWriter(&out)
	w, err := age.Encrypt(a, ids[0].(*age.X25519Identity).Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, `{"a": "`+testKey+`"}`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.age")
	write(t, path, out.String())
	v := headless(t, path, identity, nil)
	if s, err := v.Get(t.Context(), "a"); s.Key != testKey || err != nil {
		t.Errorf("got %v, %v, want the key", s, err)
	}
	wantKind(t, v.Set(t.Context(), "b", "key of b"), nil)
	if s, err := headless(t, path, identity, nil).Get(t.Context(), "a"); s.Key != testKey || err != nil {
		t.Errorf("got %v, %v after a change, want the key", s, err)
	}
}

// answers is a passphrase function that gives its answers one by one and keeps what it was asked.
type answers struct {
	list  []string
	asked []Ask
}

func (a *answers) ask(ctx context.Context) (string, error) {
	a.asked = append(a.asked, Asking(ctx))
	if len(a.asked) > len(a.list) {
		return "", errors.New("nobody there")
	}
	return a.list[len(a.asked)-1], nil
}

func TestPassphrase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	first := &answers{list: []string{"correct horse"}}
	v := headless(t, path, "", first.ask)
	wantKind(t, v.Set(t.Context(), "a", testKey), nil)
	wantKind(t, v.Set(t.Context(), "b", "key of b"), nil)
	if len(first.asked) != 1 || first.asked[0] != (Ask{File: path, Try: 1, Fresh: true}) {
		t.Errorf("got questions %+v, want one for a new file", first.asked)
	}
	if s := v.redact.Redact("correct horse"); s != redacted {
		t.Errorf("got %q, want the passphrase redacted", s)
	}
	original := read(t, path)

	for _, c := range []struct {
		name    string
		answers []string
		want    error
		asked   int
	}{
		{"right", []string{"correct horse"}, nil, 1},
		{"mistyped once", []string{"corect horse", "correct horse"}, nil, 2},
		{"mistyped twice", []string{"", "x", "correct horse"}, nil, 3},
		{"wrong three times", []string{"x", "y", "z", "correct horse"}, ErrLocked, 3},
		{"nobody answers", nil, ErrLocked, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &answers{list: c.answers}
			v := headless(t, path, "", a.ask)
			if s := v.Status(t.Context())[3]; !s.Available || !s.Locked {
				t.Errorf("got %+v before, want it locked", s)
			}
			_, err := v.Where(t.Context(), "a")
			wantKind(t, err, ErrLocked)
			if len(a.asked) != 0 {
				t.Fatal("Where asked for the passphrase")
			}
			s, err := v.Get(t.Context(), "a")
			wantKind(t, err, c.want)
			if len(a.asked) != c.asked || c.want == nil && s.Key != testKey {
				t.Errorf("got %v after %d questions, want %d", s, len(a.asked), c.asked)
			}
			for i, q := range a.asked {
				if q.Try != i+1 || q.Fresh {
					t.Errorf("question %d: got %+v", i, q)
				}
			}
			if c.want != nil {
				if read(t, path) != original {
					t.Error("the file was changed")
				}
				if s := v.Status(t.Context())[3]; !s.Locked {
					t.Errorf("got %+v after a failure, want it locked", s)
				}
				return
			}
			if where, err := v.Where(t.Context(), "a"); where != SourceAge || err != nil {
				t.Errorf("got %v, %v once open, want the file", where, err)
			}
			if s := v.Status(t.Context())[3]; s.Locked {
				t.Errorf("got %+v once open, want it unlocked", s)
			}
		})
	}
}

func TestWrongPassphraseThreeTimesThenRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	wantKind(t, headless(t, path, "", (&answers{list: []string{"right one"}}).ask).Set(t.Context(), "a", testKey), nil)
	a := &answers{list: []string{"x", "y", "z", "right one"}}
	v := headless(t, path, "", a.ask)
	_, err := v.Get(t.Context(), "a")
	wantKind(t, err, ErrLocked)
	s, err := v.Get(t.Context(), "a")
	if s.Key != testKey || err != nil || len(a.asked) != 4 || a.asked[3].Try != 1 {
		t.Errorf("got %v, %v after %+v, want the key at the fourth question", s, err, a.asked)
	}
}

// The file keeps its passphrase although an identity is configured later, and the other way round.
func TestFileStaysWithWhatItWasMadeWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	a := &answers{list: []string{"right one", "right one"}}
	wantKind(t, headless(t, path, "", a.ask).Set(t.Context(), "a", testKey), nil)
	wantKind(t, headless(t, path, newIdentity(t), a.ask).Set(t.Context(), "b", "key of b"), nil)
	if !isPassphraseFile([]byte(read(t, path))) {
		t.Error("the file is no longer encrypted with the passphrase")
	}
	_, err := headless(t, path, newIdentity(t), nil).Get(t.Context(), "a")
	wantKind(t, err, ErrLocked)
}

func TestIdentityProblems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	wantKind(t, headless(t, path, newIdentity(t), nil).Set(t.Context(), "a", testKey), nil)
	dir := t.TempDir()
	garbage, sealed := filepath.Join(dir, "garbage"), filepath.Join(dir, "sealed")
	write(t, garbage, "AGE-SECRET-KEY-1GARBAGE\n")
	write(t, sealed, read(t, path))
	for name, identity := range map[string]string{
		"another": newIdentity(t), "none": "", "absent": filepath.Join(dir, "absent"), "garbage": garbage, "encrypted": sealed, "folder": dir,
	} {
		t.Run(name, func(t *testing.T) {
			before := read(t, path)
			v := headless(t, path, identity, nil)
			_, err := v.Get(t.Context(), "a")
			wantKind(t, err, ErrLocked, "GARBAGE")
			if identity != "" {
				wantKind(t, v.Set(t.Context(), "b", "key of b"), ErrLocked)
			}
			if read(t, path) != before {
				t.Error("the file was changed")
			}
		})
	}
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	identity := newIdentity(t)
	good := filepath.Join(t.TempDir(), "c.age")
	wantKind(t, headless(t, good, identity, nil).Set(t.Context(), "a", testKey), nil)
	content := read(t, good)
	flipped := []byte(content)
	flipped[len(flipped)-1] ^= 1
	for name, bad := range map[string]string{
		"empty": "", "plain": `{"a":"` + testKey + `"}`, "cut": content[:len(content)-10], "flipped": string(flipped),
		"huge": content + strings.Repeat("x", MaxAgeFile), "half header": content[:30],
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.age")
			write(t, path, bad)
			v := headless(t, path, identity, nil)
			_, err := v.Get(t.Context(), "a")
			wantKind(t, err, ErrUnavailable, testKey)
			err = v.Set(t.Context(), "b", "key of b")
			wantKind(t, err, ErrUnavailable)
			if read(t, path) != bad {
				t.Error("the file was changed")
			}
		})
	}
}

func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	identity := newIdentity(t)
	const vaults, each = 4, 10
	var all sync.WaitGroup
	for i := range vaults {
		v := headless(t, path, identity, nil) // each like a process of its own
		for j := range each {
			all.Go(func() {
				if err := v.Set(context.Background(), fmt.Sprintf("n%d-%d", i, j), fmt.Sprintf("key %d %d", i, j)); err != nil {
					t.Errorf("writer %d %d: %v", i, j, err)
				}
			})
		}
	}
	all.Wait()
	v := headless(t, path, identity, nil)
	for i := range vaults {
		for j := range each {
			want := fmt.Sprintf("key %d %d", i, j)
			if s, err := v.Get(t.Context(), fmt.Sprintf("n%d-%d", i, j)); s.Key != want || err != nil {
				t.Errorf("got %q, %v, want %q", s.Key, err, want)
			}
		}
	}
}

func TestLeavingWhileAnotherProgramHoldsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	identity := newIdentity(t)
	v := headless(t, path, identity, nil)
	wantKind(t, v.Set(t.Context(), "a", "first key"), nil)
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- v.Set(ctx, "a", "second key") }()
	cancel()
	wantKindOnly(t, <-failed, context.Canceled)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, v.Set(t.Context(), "b", "key of b"), nil) // comes after the one that was left
	if s, err := v.Get(t.Context(), "a"); s.Key != "first key" || err != nil {
		t.Errorf("got %q, %v, want what was there before the write that was left", s.Key, err)
	}
}

func TestChangesOfAnotherProgramAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	one := headless(t, path, "", (&answers{list: []string{"old passphrase"}}).ask)
	wantKind(t, one.Set(t.Context(), "a", "first key"), nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := headless(t, path, "", (&answers{list: []string{"new passphrase"}}).ask)
	wantKind(t, other.Set(t.Context(), "a", "second key"), nil)
	again := &answers{list: []string{"new passphrase"}}
	one.age.ask = again.ask
	if s, err := one.Get(t.Context(), "a"); s.Key != "second key" || err != nil || len(again.asked) != 1 {
		t.Errorf("got %v, %v after %d questions, want the new key after one", s, err, len(again.asked))
	}
}

func TestOneQuestionForAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.age")
	wantKind(t, headless(t, path, "", (&answers{list: []string{"right one"}}).ask).Set(t.Context(), "a", testKey), nil)
	synctest.Test(t, func(t *testing.T) {
		type question struct{ reply chan error }
		questions := make(chan question, 20)
		v := headless(t, path, "", func(ctx context.Context) (string, error) {
			q := question{make(chan error)}
			questions <- q
			select {
			case err := <-q.reply:
				return "right one", err
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		v.getenv = env(nil)
		var all sync.WaitGroup
		got := make(chan error, 10)
		for range 10 {
			all.Go(func() {
				_, err := v.age.get(t.Context(), "a")
				got <- err
			})
		}
		synctest.Wait()
		(<-questions).reply <- errors.New("cancelled")
		all.Wait()
		for range 10 {
			wantKind(t, <-got, ErrLocked)
		}
		if len(questions) != 0 {
			t.Errorf("got %d more questions, want one for all", len(questions))
		}
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := v.age.get(ctx, "a")
			wantKindAsync(t, err, context.Canceled)
		})
		synctest.Wait()
		cancel()
		all.Wait()
	})
}

func TestSymbolicLinkStays(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.age"), filepath.Join(dir, "c.age")
	identity := newIdentity(t)
	wantKind(t, headless(t, target, identity, nil).Set(t.Context(), "a", testKey), nil)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	wantKind(t, headless(t, link, identity, nil).Set(t.Context(), "b", "key of b"), nil)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("got %v, %v, want the link", info.Mode(), err)
	}
	if s, err := headless(t, target, identity, nil).Get(t.Context(), "b"); s.Key != "key of b" || err != nil {
		t.Errorf("got %v, %v, want the key behind the link", s, err)
	}
}

func TestFileLimit(t *testing.T) {
	v := headless(t, filepath.Join(t.TempDir(), "c.age"), newIdentity(t), nil)
	keys := map[string]string{}
	for i := range MaxAgeFile / MaxKey {
		keys[fmt.Sprint(i)] = strings.Repeat("x", MaxKey)
	}
	err := v.age.change(t.Context(), func(all map[string]string) error {
		for name, key := range keys {
			all[name] = key
		}
		return nil
	})
	wantKind(t, err, ErrTooBig)
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	v := headless(t, filepath.Join(file, "c.age"), newIdentity(t), nil)
	err := v.Set(t.Context(), "a", testKey)
	if err == nil || strings.Contains(err.Error(), testKey) {
		t.Errorf("got %v, want an error without the key", err)
	}
}
