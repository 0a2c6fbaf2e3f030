package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type report struct {
	cfg *Config
	err error
}

// watched starts a Watch; the function waits for the next report.
func watched(t *testing.T, f *File) func() report {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reports := make(chan report, 100)
	ready := make(chan struct{})
	done := make(chan error, 1)
	f.settle = 5 * time.Millisecond
	read := f.read
	started := false
	f.read = func(p string) ([]byte, error) {
		if !started {
			started = true // the first read of Watch comes after the folders are watched
			close(ready)
		}
		return read(p)
	}
	go func() { done <- f.Watch(ctx, func(cfg *Config, err error) { reports <- report{cfg, err} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch ended with %v", err)
		}
		if len(f.watchers) != 0 {
			t.Errorf("%d watchers are left", len(f.watchers))
		}
		for len(reports) > 0 {
			t.Errorf("one report too many: %+v", <-reports)
		}
	})
	<-ready
	return func() report {
		t.Helper()
		select {
		case r := <-reports:
			return r
		case <-time.After(10 * time.Second):
			t.Fatal("no report within 10 s")
			return report{}
		}
	}
}

// replaced writes a file the way editors do.
func replaced(t *testing.T, path, content string) {
	t.Helper()
	write(t, path+"~", content)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

func port(t *testing.T, r report, want int) {
	t.Helper()
	if r.err != nil || r.cfg.Server.Port != want {
		t.Errorf("got port %d, %v, want %d", r.cfg.Server.Port, r.err, want)
	}
}

func TestWatch(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	next := watched(t, f)
	replaced(t, f.Path(), "server: {port: 2}\n")
	port(t, next(), 2)
	write(t, f.Path(), "server: {port: 3}\n")
	port(t, next(), 3)
	replaced(t, f.Path(), "server: {prot: 4}\n")
	r := next()
	var e *Error
	if !errors.As(r.err, &e) || e.Line != 1 || e.Column != 10 || r.cfg.Server.Port != 3 || f.Config().Server.Port != 3 || !errors.Is(f.Err(), ErrInvalid) {
		t.Errorf("got %+v", r)
	}
	if err := f.Edit(Edit{path("server.port"), 9}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
	replaced(t, f.Path(), "server: {port: 3}\n") // back to what is in force: that is news as well
	port(t, next(), 3)
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	if r := next(); !errors.Is(r.err, fs.ErrNotExist) || !errors.Is(r.err, ErrUnreadable) || r.cfg.Server.Port != 3 {
		t.Errorf("got %+v", r)
	}
	write(t, f.Path(), "server: {port: 5}\n")
	port(t, next(), 5)
	if f.Err() != nil {
		t.Errorf("got %v", f.Err())
	}
}

func TestWatchReportsOwnEditsOnce(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	next := watched(t, f)
	for i := 2; i < 6; i++ {
		if err := f.Edit(Edit{path("server.port"), i}); err != nil {
			t.Fatal(err)
		}
		port(t, next(), i)
	}
	// The file events of the edits are behind those of this change: a second report would come before it.
	replaced(t, f.Path(), "server: {port: 7}\n")
	port(t, next(), 7)
}

func TestWatchReportsWhatChangedSinceOpen(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	replaced(t, f.Path(), "server: {port: 2}\n")
	port(t, watched(t, f)(), 2)
}

// A mounted volume as container platforms make it: the file is a link through a link that is swapped.
func TestWatchSwappedFolder(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"..one", "..two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "config.yml"), "server: {port: "+strings.Repeat("1", i+1)+"}\n")
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..one", "..data")
	link("..data/config.yml", "config.yml")
	f, err := Open(filepath.Join(dir, "config.yml"))
	if err != nil {
		t.Fatal(err)
	}
	next := watched(t, f)
	link("..two", "..tmp")
	if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	port(t, next(), 11)
	replaced(t, filepath.Join(dir, "..two", "config.yml"), "server: {port: 3}\n") // the new target is followed
	port(t, next(), 3)
	if err := f.Edit(Edit{path("server.port"), 4}); err != nil {
		t.Fatal(err)
	}
	port(t, next(), 4)
}

func TestWatchReplacedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ionclaw")
	p := filepath.Join(dir, "config.yml")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, p, "server: {port: 1}\n")
	f, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	next := watched(t, f)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if r := next(); !errors.Is(r.err, ErrUnreadable) {
		t.Errorf("got %+v", r)
	}
	if err := os.Mkdir(dir+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir+".new", "config.yml"), "server: {port: 2}\n")
	if err := os.Rename(dir+".new", dir); err != nil {
		t.Fatal(err)
	}
	port(t, next(), 2)
	replaced(t, p, "server: {port: 3}\n")
	port(t, next(), 3)
}

func TestWatchUnwatchable(t *testing.T) {
	f := opened(t, "server: {port: 1}\n")
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	f.path = loop
	if err := f.Watch(context.Background(), nil); !errors.Is(err, ErrUnreadable) {
		t.Errorf("got %v", err)
	}
}
