package secret

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// memory is a keyring that can be made to wait, to fail and to lie.
type memory struct {
	mu      sync.Mutex
	keys    map[string]string
	calls   int
	running int
	most    int           // calls at the same time
	gate    chan struct{} // nil: answers at once; else each call takes one element
	started chan struct{} // gets one element per call, if not nil
	fail    error
	alter   func(string) string
}

func newMemory() *memory { return &memory{keys: map[string]string{}} }

func (m *memory) begin() error {
	m.mu.Lock()
	m.calls++
	m.running++
	m.most = max(m.most, m.running)
	gate, started, fail := m.gate, m.started, m.fail
	m.mu.Unlock()
	if started != nil {
		started <- struct{}{}
	}
	if gate != nil {
		<-gate
	}
	return fail
}

func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
}

func (m *memory) Get(name string) (string, error) {
	defer m.end()
	if err := m.begin(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key, ok := m.keys[name]
	if !ok {
		return "", ErrNotFound
	}
	return key, nil
}

func (m *memory) Set(name, key string) error {
	defer m.end()
	if err := m.begin(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alter != nil {
		key = m.alter(key)
	}
	m.keys[name] = key
	return nil
}

func (m *memory) Delete(name string) error {
	defer m.end()
	if err := m.begin(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.keys[name]; !ok {
		return ErrNotFound
	}
	delete(m.keys, name)
	return nil
}

func (m *memory) counts() (calls, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.most
}

// desk is a prober whose prompt is answered by the test.
type desk struct {
	mu      sync.Mutex
	err     error
	locked  bool
	prompts int
	answer  chan error // nil unlocks
}

func (d *desk) state(ctx context.Context, _ bool) (keyringState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return keyringState{locked: d.locked}, errors.Join(d.err, ctx.Err())
}

func (d *desk) has(context.Context, string) (bool, bool, error) { return false, false, nil }

func (d *desk) unlock() error {
	d.mu.Lock()
	d.prompts++
	d.mu.Unlock()
	err := <-d.answer
	if err == nil {
		d.mu.Lock()
		d.locked = false
		d.mu.Unlock()
	}
	return err
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prompts
}

// env is an environment of its own for a vault.
func env(kv map[string]string) func(string) string {
	return func(name string) string { return kv[name] }
}

// vault makes a vault over a memory keyring and an empty environment.
func vault(t *testing.T, o Options, kv map[string]string) *Vault {
	t.Helper()
	if o.Keyring == nil {
		o.Keyring = newMemory()
	}
	v := New(o)
	v.getenv = env(kv)
	v.environ = func() []string {
		var all []string
		for name, value := range kv {
			all = append(all, name+"="+value)
		}
		return all
	}
	v.age.logN = 2 // the real work factor takes a second
	return v
}

// wantKind checks an error's kind, that it has text, and that it shows no key.
func wantKind(t *testing.T, err, want error, keys ...string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Fatalf("got error %v, want none", err)
		}
		return
	}
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want one that is %q", err, want)
	}
	for _, kind := range []error{ErrUnavailable, ErrLocked, ErrNotFound, ErrTimeout, ErrTooBig, ErrReadOnly, ErrMismatch, ErrInvalid} {
		if kind != want && errors.Is(err, kind) {
			t.Errorf("error %v is %q, and %q as well", err, want, kind)
		}
	}
	for _, key := range keys {
		if contains(err.Error(), key) {
			t.Errorf("the error shows the key")
		}
	}
}
