package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ionclaw-tray/assets"
)

// MaxEditAttempts bounds how often an edit is made again because somebody else changed the file meanwhile.
const MaxEditAttempts = 5

// File is a configuration file and the configuration in force. It is safe for concurrent use.
type File struct {
	path  string
	state atomic.Pointer[state]
	turn  chan struct{} // holds one token: who has it may read the file into state, or change the file

	mu       sync.Mutex
	watchers map[chan struct{}]bool // each is woken after state has changed

	// Seams.
	read     func(string) ([]byte, error)
	env      lookup
	lockWait time.Duration
	settle   time.Duration // how long a changing file is left alone
	merged   func()        // after an edit has been made on the bytes, before the file is replaced
}

// state is what is known about the file. It is replaced, never changed.
type state struct {
	cfg     *Config // the last valid one
	content hash    // of the bytes that cfg came from
	err     error   // why the file's present content is not in force
	failed  hash    // of those bytes; zero if they could not be read
	version uint64  // grows with each change that watchers are told
}

// Open reads a configuration file. A missing one is created from the commented starter file, 0600 in a folder of 0700.
// The error is ErrInvalid (with every problem, as Errors), ErrUnreadable or ErrUnwritable.
func Open(path string) (*File, error) {
	return open(&File{path: path})
}

func open(f *File) (*File, error) {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return nil, fmt.Errorf("%w: finding %s: %w", ErrUnreadable, f.path, err)
	}
	f.path = abs
	f.turn = make(chan struct{}, 1)
	f.turn <- struct{}{}
	f.watchers = map[chan struct{}]bool{}
	if f.read == nil {
		f.read = readBounded
	}
	if f.env == nil {
		f.env = os.LookupEnv
	}
	if f.lockWait == 0 {
		f.lockWait = lockWait
	}
	if f.settle == 0 {
		f.settle = settleTime
	}
	_, data, err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.create(); err != nil {
			return nil, err
		}
		_, data, err = f.load()
	}
	if err != nil {
		return nil, err
	}
	cfg, err := parseWith(f.path, data, f.env)
	if err != nil {
		return nil, err
	}
	f.state.Store(&state{cfg: cfg, content: hashOf(data)})
	return f, nil
}

// Path is the absolute path of the file, as it was opened: a symbolic link stays one.
func (f *File) Path() string { return f.path }

// Config is the configuration in force: the last valid content of the file.
func (f *File) Config() *Config { return f.state.Load().cfg }

// Err is why the file's present content is not in force, nil if it is. Only a running Watch and Edit notice changes.
func (f *File) Err() error { return f.state.Load().err }

// load reads the file that the path leads to.
func (f *File) load() (target string, data []byte, err error) {
	target, _, err = trace(f.path)
	if err != nil {
		return "", nil, err
	}
	data, err = f.read(target)
	if err != nil {
		return target, nil, f.unreadable(err)
	}
	return target, data, nil
}

func (f *File) unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w; make the file and its folder readable for you (chmod 600 %s, chmod 700 %s)", ErrUnreadable, err, f.path, filepath.Dir(f.path))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w; put it back or restart to get a new one", ErrUnreadable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// readBounded reads a file up to one byte more than Parse accepts.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if info.Size() > MaxFile {
		return make([]byte, MaxFile+1), nil
	}
	return os.ReadFile(path)
}

// create writes the starter file, unless someone else has created the file meanwhile.
func (f *File) create() error {
	target, _, err := trace(f.path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("%w: creating its folder: %w", ErrUnwritable, err)
	}
	release, err := acquire(target+lockSuffix, f.lockWait)
	if err != nil {
		return err
	}
	defer release()
	if err := createFile(target, assets.StarterConfig); err != nil && !errors.Is(err, fs.ErrExist) {
		if errors.Is(err, ErrUnwritable) {
			return err
		}
		return fmt.Errorf("%w: creating %s: %w", ErrUnwritable, target, err)
	}
	return nil
}

// Edit makes the edits on what is on disk now, all of them or none, and replaces the file. Config gives the result
// before Edit returns. Nothing is written when nothing differs, when the file or the result is not valid (ErrInvalid),
// when an edit would touch more than it names (ErrRefused), when others keep changing the file (ErrBusy), or when the
// disk refuses (ErrUnreadable, ErrUnwritable).
func (f *File) Edit(edits ...Edit) error {
	<-f.turn
	defer func() { f.turn <- struct{}{} }()
	for range MaxEditAttempts {
		err := f.attempt(edits)
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%w: %s was changed by another program each time before the edit could be written; try again", ErrBusy, f.path)
}

func (f *File) attempt(edits []Edit) error {
	target, _, err := trace(f.path)
	if err != nil {
		return err
	}
	release, err := acquire(target+lockSuffix, f.lockWait)
	if err != nil {
		return err
	}
	defer release()
	old, err := f.read(target)
	if err != nil {
		return f.unreadable(err)
	}
	data, cfg, err := apply(f.path, old, edits, f.env)
	if err != nil {
		return err
	}
	if f.merged != nil {
		f.merged()
	}
	if string(data) != string(old) {
		if err := replaceFile(target, old, data, f.read); err != nil {
			return err
		}
	}
	f.took(cfg, hashOf(data))
	return nil
}

// reload reads the file as others left it.
func (f *File) reload() {
	<-f.turn
	defer func() { f.turn <- struct{}{} }()
	_, data, err := f.load()
	if err != nil {
		f.refused(err, hash{})
		return
	}
	content := hashOf(data)
	if s := f.state.Load(); s.content == content && s.err == nil || s.err != nil && s.failed == content {
		return
	}
	if len(bytes.TrimSpace(data)) == 0 {
		// An editor between truncating and writing, or one whose disk was full: no reason to forget all agents.
		f.refused(fmt.Errorf("%w: %s has become empty; what was in force before stays until the file says something or the program starts again", ErrInvalid, f.path), content)
		return
	}
	cfg, err := parseWith(f.path, data, f.env)
	if err != nil {
		f.refused(err, content)
		return
	}
	f.took(cfg, content)
}

// took puts a configuration in force and wakes the watchers if it is another one.
func (f *File) took(cfg *Config, content hash) {
	s := f.state.Load()
	if s.content == content && s.err == nil {
		return
	}
	f.state.Store(&state{cfg: cfg, content: content, version: s.version + 1})
	f.wake()
}

// refused notes why the file is not in force and wakes the watchers if that is news.
func (f *File) refused(err error, content hash) {
	s := f.state.Load()
	if s.err != nil && s.failed == content && s.err.Error() == err.Error() {
		return
	}
	f.state.Store(&state{cfg: s.cfg, content: s.content, err: err, failed: content, version: s.version + 1})
	f.wake()
}

func (f *File) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		select {
		case w <- struct{}{}:
		default: // it has been woken already and will see the newest state
		}
	}
}
