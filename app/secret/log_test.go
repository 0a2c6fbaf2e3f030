package secret

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "ionclaw", "ionclaw.log")
	r := NewRedactor()
	r.Add(testKey)
	log, closer, err := OpenLog(path, r)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not at this level")
	log.Info("first "+testKey, "error", fmt.Errorf("with %s", testKey[:12]))
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	log.Info("after closing")
	if err := closer.Close(); err != nil {
		t.Errorf("got %v from a second Close, want none", err)
	}
	again, closer, err := OpenLogAt(path, r, slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	again.Debug("second")
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "first "+redacted) || !strings.Contains(got, "second") {
		t.Errorf("got %q, want two lines", got)
	}
	for form, text := range leaks(testKey) {
		if strings.Contains(got, text) {
			t.Errorf("the log shows the key as %s", form)
		}
	}
	wantModes(t, filepath.Dir(path))
}

func wantModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got mode %o, %v, want %o", path, info.Mode().Perm(), err, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogMakesAnOldFilePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.log")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, closer, err := OpenLog(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("new")
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(read(t, path), "old\n") {
		t.Errorf("got %v, %v, want 0600 and the old text", info.Mode(), err)
	}
}

func TestLogRotates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	path := filepath.Join(dir, "ionclaw.log")
	log, closer, err := OpenLog(path, NewRedactor())
	if err != nil {
		t.Fatal(err)
	}
	chunk := strings.Repeat("x", LogLine/2)
	for range 2*LogMegabytes + 1 {
		log.Info(chunk)
	}
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v, %v, want the file and one older one", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() > LogMegabytes<<20 {
			t.Errorf("%s: got %d bytes, %v, want at most %d", e.Name(), info.Size(), err, LogMegabytes<<20)
		}
	}
	wantModes(t, dir)
	if f := closer.(*logFile); f.rotated.MaxBackups+1 != LogFiles || f.rotated.MaxSize != LogMegabytes {
		t.Errorf("got %d files of %d MB, want %d of %d", f.rotated.MaxBackups+1, f.rotated.MaxSize, LogFiles, LogMegabytes)
	}
}

func TestLogCutsLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.log")
	r := NewRedactor()
	r.Add(testKey)
	log, closer, err := OpenLog(path, r)
	if err != nil {
		t.Fatal(err)
	}
	log.Info(strings.Repeat(testKey+" ", 30*LogLine/len(testKey)))
	log.Info("next")
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	if len(got) > LogLine+200 || !strings.Contains(got, "[cut]\n") || !strings.HasSuffix(got, "msg=next\n") || strings.Contains(got, testKey[:8]) {
		t.Errorf("got %d bytes ending in %q, want a cut line and the next one", len(got), got[max(0, len(got)-80):])
	}
}

func TestLogUnderConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ionclaw.log")
	r := NewRedactor()
	log, closer, err := OpenLog(path, r)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				key := fmt.Sprintf("%d/%d-key-with-some-length", i, j)
				r.Add(key)
				log.Info("used "+key, "key", []byte(key))
			}
		})
	}
	all.Wait()
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); strings.Count(got, "\n") != 400 || strings.Contains(got, "-key-with") {
		t.Errorf("got %d lines, want 400 without a key", strings.Count(got, "\n"))
	}
}

func TestLogThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, path := range []string{filepath.Join(file, "ionclaw.log"), t.TempDir()} {
		if _, _, err := OpenLog(path, nil); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
}
