package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ionclaw-tray/assets"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func opened(t *testing.T, content string) *File {
	t.Helper()
	p := filepath.Join(t.TempDir(), "config.yml")
	write(t, p, content)
	f, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func TestOpenCreatesStarter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "ionclaw")
	p := filepath.Join(dir, "config.yml")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if f, err := Open(p); err != nil || f.Path() != p || !f.Config().Channels.MCP.Enabled || f.Err() != nil {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if got := content(t, p); got != string(assets.StarterConfig) {
		t.Errorf("got %q", got)
	}
	for path, want := range map[string]fs.FileMode{p: 0o600, dir: fs.ModeDir | 0o700, p + lockSuffix: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if got := names(t, dir); got != "config.yml config.yml.lock" {
		t.Errorf("got %s", got)
	}
}

func TestOpenProblems(t *testing.T) {
	dir := t.TempDir()
	invalid := filepath.Join(dir, "invalid.yml")
	write(t, invalid, "server:\n  host: 0.0.0.0\n")
	loop := filepath.Join(dir, "loop.yml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.yml")
	write(t, large, strings.Repeat("#\n", MaxFile))
	for _, c := range []struct {
		path string
		is   error
		want string
	}{
		{invalid, ErrInvalid, invalid + ":2:9: server.host is"},
		{dir, ErrUnreadable, "not a regular file"},
		{filepath.Join(invalid, "config.yml"), ErrUnreadable, "not a directory"},
		{loop, ErrUnreadable, "symbolic links"},
		{large, ErrInvalid, "larger than"},
	} {
		f, err := Open(c.path)
		if f != nil || !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: got %v, want %v: %s", c.path, err, c.is, c.want)
		}
	}
	if got := content(t, invalid); got != "server:\n  host: 0.0.0.0\n" {
		t.Errorf("the invalid file was changed: %q", got)
	}
	denied := &fs.PathError{Op: "open", Path: invalid, Err: fs.ErrPermission}
	_, err := open(&File{path: invalid, read: func(string) ([]byte, error) { return nil, denied }})
	if !errors.Is(err, ErrUnreadable) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "chmod 600 "+invalid) {
		t.Errorf("got %v", err)
	}
}

func TestFileEdit(t *testing.T) {
	f := opened(t, "# keep\nserver: {port: 1}\n")
	if err := os.Chmod(f.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	// Someone else changes another key; the edit joins in.
	write(t, f.Path(), "# keep\nserver: {port: 1, host: localhost}\n")
	if err := f.Edit(Edit{path("server.port"), 2}); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, f.Path()), "# keep\nserver: {port: 2, host: localhost}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s := f.Config().Server; s.Port != 2 || s.Host != "localhost" {
		t.Errorf("got %+v", s)
	}
	info, err := os.Stat(f.Path())
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got mode %v, %v, want 0640", info.Mode(), err)
	}
	// Nothing differs: the file is not written.
	if err := f.Edit(Edit{path("server.port"), 2}); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(f.Path()); err != nil || !os.SameFile(info, again) {
		t.Errorf("the file was replaced without a difference: %v", err)
	}
	if got := names(t, filepath.Dir(f.Path())); got != "config.yml config.yml.lock" {
		t.Errorf("got %s", got)
	}
}

func TestFileEditRefusesAndChangesNothing(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	before := f.Config()
	for _, c := range []struct {
		disk string
		edit Edit
		is   error
	}{
		{"server: {port: 1}\n", Edit{path("server.port"), 70000}, ErrInvalid},
		{"server: {port: 1}\n", Edit{path("agents.main.model"), "nobody/x"}, ErrInvalid},
		{"server: {port: 1}\n", Edit{path("channels.mcp.credential"), "none"}, ErrInvalid},
		{"server: {prot: 1}\n", Edit{path("server.port"), 2}, ErrInvalid},
		{"server: {port: 1\n", Edit{path("server.port"), 2}, ErrInvalid},
		{"server: &s {port: 1}\nagents: {main: {model: \"builtin/offline\"}}\n", Edit{path("server.port.x"), 2}, ErrRefused},
	} {
		write(t, f.Path(), c.disk)
		if err := f.Edit(Edit{path("server.max_body"), 4096}, c.edit); !errors.Is(err, c.is) {
			t.Errorf("%v: got %v, want %v", c.edit.Path, err, c.is)
		}
		if got := content(t, f.Path()); got != c.disk || f.Config() != before {
			t.Errorf("%v: the file became %q", c.edit.Path, got)
		}
	}
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	if err := f.Edit(Edit{path("server.port"), 2}); !errors.Is(err, ErrUnreadable) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFileEditMeetsOthers(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	n := 0
	f.merged = func() {
		if n++; n == 1 {
			write(t, f.Path(), "server: {port: 1} # theirs\n")
		}
	}
	if err := f.Edit(Edit{path("server.port"), 2}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, f.Path()); got != "server: {port: 2} # theirs\n" || n != 2 {
		t.Errorf("got %q after %d attempts", got, n)
	}
	n = 0
	f.merged = func() { n++; write(t, f.Path(), fmt.Sprintf("server: {port: 2} # %d\n", n)) }
	if err := f.Edit(Edit{path("server.port"), 3}); !errors.Is(err, ErrBusy) || n != MaxEditAttempts {
		t.Errorf("got %v after %d attempts", err, n)
	}
	if got, want := content(t, f.Path()), fmt.Sprintf("server: {port: 2} # %d\n", MaxEditAttempts); got != want || f.Config().Server.Port != 2 {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := names(t, filepath.Dir(f.Path())); got != "config.yml config.yml.lock" {
		t.Errorf("got %s", got)
	}
}

func TestFileEditWaitsForTheLock(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	release, err := acquire(f.Path()+lockSuffix, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	f.lockWait = 10 * time.Millisecond
	if err := f.Edit(Edit{path("server.port"), 2}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	f.lockWait = lockWait
	done := make(chan error)
	go func() { done <- f.Edit(Edit{path("server.port"), 3}) }()
	release()
	if err := <-done; err != nil || f.Config().Server.Port != 3 {
		t.Errorf("got %v, %+v", err, f.Config().Server)
	}
}

func TestFileEditThroughLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "dotfiles", "ionclaw.yml")
	link := filepath.Join(dir, "config.yml")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("dotfiles", "..", "dotfiles", "ionclaw.yml"), link); err != nil {
		t.Fatal(err)
	}
	f, err := Open(link) // a dangling link: the starter goes where it points
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(real), ".ionclaw.yml.123.tmp"), "left by a crash")
	if err := f.Edit(Edit{path("server.port"), 4}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	if !strings.Contains(content(t, real), "port: 4") || names(t, filepath.Dir(real)) != "ionclaw.yml ionclaw.yml.lock" {
		t.Errorf("got %s in %s", content(t, real), names(t, filepath.Dir(real)))
	}
}

// Many editors of one file, in two handles as in two programs: every edit is there in the end.
func TestFileEditConcurrently(t *testing.T) {
	f := opened(t, "agents:\n  main:\n")
	g, err := Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 10 {
		for j, h := range []*File{f, g} {
			wg.Go(func() {
				name := fmt.Sprintf("a%d_%d", i, j)
				if err := h.Edit(AgentEdits(name, Agent{Description: name})...); err != nil {
					t.Error(err)
				}
				if h.Config().Agents[name].Description != name {
					t.Errorf("%s is not in the configuration after its edit", name)
				}
			})
		}
	}
	wg.Wait()
	cfg, err := Parse("c.yml", []byte(content(t, f.Path())))
	if err != nil || len(cfg.Agents) != 21 {
		t.Errorf("got %d agents, %v", len(cfg.Agents), err)
	}
}
