package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is how long a file has to rest before it is read: editors write in several steps.
	settleTime = 100 * time.Millisecond
	// maxSettle is how many settle times a file that never rests is waited for.
	maxSettle = 10
)

// Watch follows the file until ctx ends and then returns nil. For each change, by others or by Edit, it calls report
// once: with the new configuration, or with the configuration that stays in force and the reason why the file's content
// is not. Changes since Open count, changes in quick succession may be reported together, and report is never called
// twice at a time. An error says that changes by others cannot be noticed here, and why.
//
// Folders are watched rather than the file, because editors replace it, and every symbolic link on the way is.
func (f *File) Watch(ctx context.Context, report func(cfg *Config, err error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", f.path, err)
	}
	defer w.Close()
	watch := &watch{file: f, w: w}
	if err := watch.follow(); err != nil {
		return err
	}
	woken := make(chan struct{}, 1)
	f.mu.Lock()
	f.watchers[woken] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, woken)
		f.mu.Unlock()
	}()
	return watch.run(ctx, woken, report)
}

// watch is a running Watch.
type watch struct {
	file   *File
	w      *fsnotify.Watcher
	places map[string]bool // paths whose change matters
	first  time.Time       // when the changes that are not read yet began
}

// follow watches the folders that the path leads through now. Only the file's own folder has to be watchable.
func (w *watch) follow() error {
	target, places, err := trace(w.file.path)
	if err != nil {
		return err
	}
	w.places = map[string]bool{}
	folders := map[string]bool{}
	for _, p := range places {
		w.places[p.path()] = true
		folders[p.dir] = true
		err := w.w.Add(p.dir)
		if err != nil && p.dir == filepath.Dir(target) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: watching its folder %s: %w", ErrUnreadable, p.dir, err)
		}
	}
	for _, dir := range w.w.WatchList() {
		if !folders[dir] {
			_ = w.w.Remove(dir)
		}
	}
	return nil
}

func (w *watch) run(ctx context.Context, woken <-chan struct{}, report func(*Config, error)) error {
	settled := time.NewTimer(w.delay()) // the file may have changed since Open, or be changing now
	defer settled.Stop()
	var told uint64
	tell := func() {
		if s := w.file.state.Load(); s.version != told && ctx.Err() == nil {
			told = s.version
			report(s.cfg, s.err)
		}
	}
	for tell(); ; tell() {
		select {
		case <-ctx.Done():
			return nil
		case <-woken:
		case e, open := <-w.w.Events:
			if !open {
				return fmt.Errorf("watching %s: %w", w.file.path, fsnotify.ErrClosed)
			}
			if w.places[filepath.Clean(e.Name)] {
				settled.Reset(w.delay())
			}
		case _, open := <-w.w.Errors:
			// Events were lost: look.
			if !open {
				return fmt.Errorf("watching %s: %w", w.file.path, fsnotify.ErrClosed)
			}
			settled.Reset(w.delay())
		case <-settled.C:
			w.first = time.Time{}
			if err := w.follow(); err != nil {
				w.file.refused(err, hash{})
			}
			w.file.reload()
		}
	}
}

// delay is how long to wait from now on: less the longer the file has not come to rest.
func (w *watch) delay() time.Duration {
	if w.first.IsZero() {
		w.first = time.Now()
	}
	return min(w.file.settle, max(0, maxSettle*w.file.settle-time.Since(w.first)))
}
