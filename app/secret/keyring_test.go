package secret

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	zalando "github.com/zalando/go-keyring"
)

func contains(s, part string) bool { return part != "" && strings.Contains(s, part) }

func TestSystemKeyring(t *testing.T) {
	zalando.MockInit()
	ctx := t.Context()
	k := newKeyring(systemKeyring{}, blind{}, nil)
	_, err := k.get(ctx, "a")
	wantKind(t, err, ErrNotFound)
	wantKind(t, k.delete(ctx, "a"), ErrNotFound)
	for _, key := range []string{"first", "second\nüñ", strings.Repeat("x", MaxKey)} {
		wantKind(t, k.set(ctx, "a", key), nil)
		if got, err := k.get(ctx, "a"); got != key || err != nil {
			t.Errorf("got %d bytes, %v, want %d bytes", len(got), err, len(key))
		}
	}
	wantKind(t, k.delete(ctx, "a"), nil)
	if found, err := k.has(ctx, "a"); found || err != nil {
		t.Errorf("got %v, %v after deleting, want false", found, err)
	}
}

// The library has no error values for these; none may look like a key that is merely missing.
func TestErrorsOfTheLibrary(t *testing.T) {
	cases := []struct {
		name  string
		fails error
		desk  *desk
		want  error
		text  string
	}{
		{"dbus-launch missing", &exec.Error{Name: "dbus-launch", Err: exec.ErrNotFound}, &desk{}, ErrUnavailable, "cannot be used"},
		{"no provider", errors.New("The name org.freedesktop.secrets was not provided by any .service files"), &desk{}, ErrUnavailable, "IONCLAW_CREDENTIAL_"},
		{"failed to unlock, locked since", errors.New("failed to unlock correct collection"), &desk{}, ErrLocked, "unlock it"},
		{"service gone", errors.New("read: connection reset"), &desk{}, ErrUnavailable, "no keyring service"},
		{"too big for this system", zalando.ErrSetDataTooBig, &desk{}, ErrTooBig, "shorter key"},
		{"no keyring on this system", zalando.ErrUnsupportedPlatform, &desk{}, ErrUnavailable, "unsupported platform"},
		{"missing", zalando.ErrNotFound, &desk{}, ErrNotFound, "credential set a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			zalando.MockInitWithError(c.fails)
			k := newKeyring(systemKeyring{}, c.desk, nil)
			_, err := k.do(t.Context(), func() (string, error) {
				// What the prober sees after the failure.
				switch c.name {
				case "failed to unlock, locked since":
					c.desk.locked = true
				case "service gone":
					c.desk.err = noService()
				}
				return k.backend.Get("a")
			})
			wantKind(t, err, c.want)
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %q, want it to say %q", err, c.text)
			}
		})
	}
}

func TestKeyringNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		k := newKeyring(m, &desk{}, nil)
		for i := range 5 {
			start := time.Now()
			_, err := k.get(t.Context(), fmt.Sprint("name", i))
			wantKind(t, err, ErrTimeout)
			if took := time.Since(start); took != CallLimit {
				t.Errorf("call %d: got an answer after %v, want %v", i, took, CallLimit)
			}
		}
		if calls, _ := m.counts(); calls != 1 {
			t.Errorf("got %d stranded calls, want 1", calls)
		}
		close(m.gate) // it answers at last
		synctest.Wait()
		wantKind(t, k.set(t.Context(), "name", "key"), nil)
	})
}

func TestWaitingForALateCallEndsWhenItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		m.keys["b"] = "key of b"
		k := newKeyring(m, &desk{}, nil)
		_, err := k.get(t.Context(), "a")
		wantKind(t, err, ErrTimeout)
		got := make(chan string)
		go func() {
			key, _ := k.get(t.Context(), "b")
			got <- key
		}()
		time.Sleep(CallLimit / 2) // the clock of the bubble
		close(m.gate)
		if key := <-got; key != "key of b" {
			t.Errorf("got %q, want the key", key)
		}
	})
}

func TestQueueBehindSlowCallsIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		k := newKeyring(m, &desk{}, nil)
		var all sync.WaitGroup
		const callers = 10
		for i := range callers {
			m.keys[fmt.Sprint(i)] = "key"
			all.Go(func() {
				_, err := k.get(t.Context(), fmt.Sprint(i))
				if err != nil {
					t.Errorf("caller %d: got %v, want the key", i, err)
				}
			})
		}
		for range callers { // each call takes just less than the limit
			time.Sleep(CallLimit - time.Millisecond)
			m.gate <- struct{}{}
		}
		all.Wait()
		if calls, most := m.counts(); calls != callers || most != 1 {
			t.Errorf("got %d calls, %d at once, want %d, 1", calls, most, callers)
		}
	})
}

func TestSameNameJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		m.keys["a"] = "key"
		k := newKeyring(m, &desk{}, nil)
		first, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := k.get(first, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v for the caller who left, want context.Canceled", err)
			}
		})
		synctest.Wait()
		for range 9 {
			all.Go(func() {
				if key, err := k.get(t.Context(), "a"); key != "key" || err != nil {
					t.Errorf("got %q, %v, want the key", key, err)
				}
			})
		}
		synctest.Wait()
		leave() // the one who began it
		synctest.Wait()
		close(m.gate)
		all.Wait()
		if calls, _ := m.counts(); calls != 1 {
			t.Errorf("got %d calls for ten callers, want 1", calls)
		}
	})
}

func TestGetAfterSetNeverJoinsAnOlderRead(t *testing.T) {
	m := newMemory()
	k := newKeyring(m, blind{}, nil)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = k.get(context.Background(), "a")
				}
			}
		})
	}
	for i := range 300 {
		want := fmt.Sprint("key", i)
		wantKind(t, k.set(t.Context(), "a", want), nil)
		if got, err := k.get(t.Context(), "a"); got != want || err != nil {
			t.Fatalf("got %q, %v after storing %q", got, err, want)
		}
	}
	close(stop)
	readers.Wait()
}

func TestCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		k := newKeyring(m, &desk{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i, call := range []func() error{
			func() error { _, err := k.get(ctx, "a"); return err },
			func() error { _, err := k.get(ctx, "b"); return err },
			func() error { return k.set(ctx, "a", "key") },
			func() error { return k.delete(ctx, "c") },
		} {
			all.Go(func() {
				if err := call(); !errors.Is(err, context.Canceled) {
					t.Errorf("call %d: got %v, want context.Canceled", i, err)
				}
			})
			synctest.Wait() // the first one has the lane
		}
		start := time.Now()
		cancel()
		all.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("leaving took %v, want no time", took)
		}
		close(m.gate)
		synctest.Wait()
		if calls, _ := m.counts(); calls != 1 {
			t.Errorf("got %d calls, want only the one that had begun", calls)
		}
	})
}

func TestOnePromptForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		d := &desk{locked: true, answer: make(chan error)}
		var told []bool
		k := newKeyring(m, d, func(w bool) { told = append(told, w) })
		var all sync.WaitGroup
		for i := range 10 {
			name := fmt.Sprint("name", i)
			m.keys[name] = "key"
			all.Go(func() {
				_, err := k.get(t.Context(), name)
				wantKindAsync(t, err, nil)
			})
		}
		synctest.Wait()
		time.Sleep(PromptLimit - time.Second) // more patience than for a call
		d.answer <- nil
		all.Wait()
		if got := d.count(); got != 1 {
			t.Errorf("got %d prompts, want 1", got)
		}
		if !slices.Equal(told, []bool{true, false}) {
			t.Errorf("Waiting was told %v, want true, false", told)
		}
	})
}

func wantKindAsync(t *testing.T, err, want error) {
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestRefusalAnswersTheQueueButNotTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		d := &desk{locked: true, answer: make(chan error)}
		k := newKeyring(m, d, nil)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				_, err := k.get(t.Context(), fmt.Sprint("name", i))
				wantKindAsync(t, err, ErrLocked)
			})
		}
		synctest.Wait()
		d.answer <- locked(errors.New("closed"))
		all.Wait()
		if got := d.count(); got != 1 {
			t.Errorf("got %d prompts for a refusal, want 1", got)
		}
		m.keys["name"] = "key" // a retry asks again
		all.Go(func() {
			_, err := k.get(t.Context(), "name")
			wantKindAsync(t, err, nil)
		})
		d.answer <- nil
		all.Wait()
		if got := d.count(); got != 2 {
			t.Errorf("got %d prompts after a retry, want 2", got)
		}
	})
}

func TestNobodyAnswersThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.keys["a"] = "key"
		d := &desk{locked: true, answer: make(chan error)}
		var told []bool
		k := newKeyring(m, d, func(w bool) { told = append(told, w) })
		for i, limit := range []time.Duration{PromptLimit, CallLimit, CallLimit} {
			start := time.Now()
			_, err := k.get(t.Context(), "a")
			wantKind(t, err, ErrTimeout)
			if took := time.Since(start); took != limit {
				t.Errorf("call %d: got an answer after %v, want %v", i, took, limit)
			}
		}
		if calls, _ := m.counts(); calls != 0 || d.count() != 1 {
			t.Errorf("got %d calls of the locked keyring and %d prompts, want 0 and 1", calls, d.count())
		}
		d.answer <- nil // at last
		synctest.Wait()
		if key, err := k.get(t.Context(), "a"); key != "key" || err != nil || d.count() != 1 {
			t.Errorf("got %q, %v after %d prompts, want the key after one", key, err, d.count())
		}
		if !slices.Equal(told, []bool{true, false}) {
			t.Errorf("Waiting was told %v, want true, false", told)
		}
	})
}

// The prompt of a caller who has left stays open, and its answer serves the next one.
func TestLeavingAPrompt(t *testing.T) {
	for name, answer := range map[string]error{"unlocked": nil, "refused": locked(errors.New("closed"))} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				m.keys["b"] = "key"
				d := &desk{locked: true, answer: make(chan error)}
				k := newKeyring(m, d, nil)
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() {
					_, err := k.get(ctx, "a")
					wantKindAsync(t, err, context.Canceled)
				})
				synctest.Wait()
				cancel()
				all.Wait()
				all.Go(func() {
					_, err := k.get(t.Context(), "b")
					if answer == nil && err != nil || answer != nil && !errors.Is(err, ErrLocked) {
						t.Errorf("got %v, want %v", err, answer)
					}
				})
				synctest.Wait()
				d.answer <- answer
				all.Wait()
				if d.count() != 1 {
					t.Errorf("got %d prompts, want 1", d.count())
				}
			})
		})
	}
}

// A keychain that may prompt by itself: the silence is shown as waiting, and has the longer limit.
func TestBackendThatPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gate = make(chan struct{})
		m.keys["a"] = "key"
		var mu sync.Mutex
		var told []bool
		k := newKeyring(m, blind{}, func(w bool) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, w)
		})
		k.prompts = true
		start := time.Now()
		_, err := k.get(t.Context(), "a")
		wantKind(t, err, ErrTimeout)
		if took := time.Since(start); took != PromptLimit {
			t.Errorf("got an answer after %v, want %v", took, PromptLimit)
		}
		close(m.gate)
		synctest.Wait()
		_, err = k.get(t.Context(), "a") // at once: nobody is told
		wantKind(t, err, nil)
		if !slices.Equal(told, []bool{true, false}) {
			t.Errorf("Waiting was told %v, want true, false", told)
		}
	})
}

func TestKeyringThatAltersKeys(t *testing.T) {
	m := newMemory()
	m.alter = func(s string) string { return s[:len(s)-1] }
	k := newKeyring(m, blind{}, nil)
	wantKind(t, k.set(t.Context(), "a", "the whole key"), ErrMismatch, "the whole key")
}

func TestPanicOfTheLibrary(t *testing.T) {
	k := newKeyring(newMemory(), blind{}, nil)
	_, err := k.do(t.Context(), func() (string, error) { panic("type assertion") })
	wantKind(t, err, ErrUnavailable)
	_, err = k.do(t.Context(), func() (string, error) { return "works", nil })
	wantKind(t, err, nil)
}

func TestLimits(t *testing.T) {
	if CallLimit != 3*time.Second || PromptLimit != 90*time.Second || MaxKey != 2048 || PassphraseTries != 3 {
		t.Errorf("got limits %v, %v, %d, %d", CallLimit, PromptLimit, MaxKey, PassphraseTries)
	}
}
