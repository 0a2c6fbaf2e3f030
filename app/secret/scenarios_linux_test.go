package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// The scenarios, in the child.
var scenarios = map[string]func(ctx context.Context) error{
	"round trip":                 roundTrip,
	"locked, no prompt possible": lockedWithoutPrompt,
	"locked, nobody answers":     lockedUnanswered,
	"locked, refused":            lockedRefused,
	"locked, caller leaves":      lockedLeft,
	"no keyring made yet":        func(ctx context.Context) error { return unavailable(ctx, "no default keyring") },
	"starts when used":           startsWhenUsed,
	"no service":                 func(ctx context.Context) error { return unavailable(ctx, "no keyring service") },
	"no bus address":             func(ctx context.Context) error { return unavailable(ctx, "no session bus") },
	"dead bus address":           func(ctx context.Context) error { return unavailable(ctx, "cannot be reached") },
	"silent bus":                 silentBus,
}

// failure is an error if a call did not end as wanted.
func failure(what string, err, want error, says string) error {
	switch {
	case want == nil && err != nil, !errors.Is(err, want):
		return fmt.Errorf("%s: got error %w, want %v", what, err, want)
	case err != nil && !strings.Contains(err.Error(), says):
		return fmt.Errorf("%s: got %w, want it to say %q", what, err, says)
	}
	return nil
}

func roundTrip(ctx context.Context) error {
	v := New(Options{})
	_, err := v.Get(ctx, "a")
	errs := []error{failure("missing", err, ErrNotFound, "credential set a"), failure("deleting nothing", v.Delete(ctx, "a"), ErrNotFound, "keyring")}
	for _, key := range []string{testKey, "overwritten", "ünïcode\r\nwith lines\x00and more", strings.Repeat("x", MaxKey), " "} {
		errs = append(errs, failure("storing", v.Set(ctx, "a", key), nil, ""))
		s, err := v.Get(ctx, "a")
		if s.Key != key || s.Source != SourceKeyring {
			errs = append(errs, fmt.Errorf("got %d bytes from %s, %w, want %d", len(s.Key), s.Source, err, len(key)))
		}
	}
	errs = append(errs, failure("too big", v.Set(ctx, "a", strings.Repeat("x", MaxKey+1)), ErrTooBig, "2049"))
	where, err := v.Where(ctx, "a")
	if where != SourceKeyring {
		errs = append(errs, fmt.Errorf("got %s, %w, want the keyring", where, err))
	}
	_, err = v.Where(ctx, "b")
	errs = append(errs, failure("where nothing is", err, ErrNotFound, ""))
	if s := v.Status(ctx)[2]; !s.Available || s.Locked || s.Detail != "unlocked" {
		errs = append(errs, fmt.Errorf("got status %+v", s))
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range 20 {
		all.Go(func() {
			name, key := fmt.Sprint("name-", i), fmt.Sprint("key ", i)
			err := v.Set(ctx, name, key)
			s, getErr := v.Get(ctx, name)
			if s.Key != key {
				getErr = fmt.Errorf("parallel: got %d bytes, %w", len(s.Key), getErr)
			}
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err, getErr)
		})
	}
	all.Wait()
	errs = append(errs, failure("deleting", v.Delete(ctx, "a"), nil, ""))
	_, err = v.Get(ctx, "a")
	return errors.Join(append(errs, failure("deleted", err, ErrNotFound, ""))...)
}

// lockCollection stores a key and locks the keyring.
func lockCollection(ctx context.Context) (*Vault, error) {
	v := New(Options{})
	if err := v.Set(ctx, "a", testKey); err != nil {
		return nil, err
	}
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	err = conn.Object(secretsName, secretsPath).CallWithContext(ctx, serviceIface+".Lock", 0, []dbus.ObjectPath{loginPath}).Err
	return v, err
}

// whileLocked checks what must work without a prompt.
func whileLocked(ctx context.Context, v *Vault) error {
	var errs []error
	if where, err := v.Where(ctx, "a"); where != SourceKeyring || err != nil {
		errs = append(errs, fmt.Errorf("where, locked: got %q, %w", where, err))
	}
	if s := v.Status(ctx)[2]; !s.Available || !s.Locked {
		errs = append(errs, fmt.Errorf("got status %+v, want it locked", s))
	}
	return errors.Join(errs...)
}

func lockedWithoutPrompt(ctx context.Context) error {
	v, err := lockCollection(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	_, err = v.Get(ctx, "a")
	err = errors.Join(whileLocked(ctx, v), failure("get", err, ErrLocked, "unlock it"), failure("set", v.Set(ctx, "a", "x"), ErrLocked, "unlock it"), failure("delete", v.Delete(ctx, "a"), ErrLocked, "unlock it"))
	if took := time.Since(start); took > CallLimit {
		err = errors.Join(err, fmt.Errorf("took %v", took))
	}
	return err
}

// unlockElsewhere opens the keyring past its prompt, as another program would.
func unlockElsewhere(ctx context.Context, password string) error {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	service := conn.Object(secretsName, secretsPath)
	var none dbus.Variant
	var session dbus.ObjectPath
	if err := service.CallWithContext(ctx, serviceIface+".OpenSession", 0, "plain", dbus.MakeVariant("")).Store(&none, &session); err != nil {
		return err
	}
	master := struct {
		Session           dbus.ObjectPath
		Parameters, Value []byte
		ContentType       string
	}{session, []byte{}, []byte(password), "text/plain"}
	return service.CallWithContext(ctx, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.UnlockWithMasterPassword", 0, loginPath, master).Err
}

// lockedUnanswered: the caller gets its time-out, there is no second prompt, and once the prompt has gone the keyring
// works as before.
func lockedUnanswered(ctx context.Context) error {
	v, err := lockCollection(ctx)
	if err != nil {
		return err
	}
	p, err := newPrompter(func(*prompter) {})
	if err != nil {
		return err
	}
	told := make(chan bool, 8)
	v.keyring.waiting = func(w bool) { told <- w }
	v.keyring.promptLimit, v.keyring.callLimit = time.Second, 500*time.Millisecond
	_, err = v.Get(ctx, "a")
	err = failure("nobody answers", err, ErrTimeout, "still open")
	_, again := v.Get(ctx, "a")
	err = errors.Join(err, failure("again", again, ErrTimeout, "earlier request"), whileLocked(ctx, v))
	cancel, promptErr := p.prompt(ctx)
	if err = errors.Join(err, promptErr, p.none(), unlockElsewhere(ctx, "test-pass")); err != nil {
		return err
	}
	cancel()
	for _, want := range []bool{true, false} {
		select {
		case got := <-told:
			if got != want {
				return fmt.Errorf("Waiting was told %v, want %v", got, want)
			}
		case <-ctx.Done():
			return errors.New("the prompt was closed and nobody noticed")
		}
	}
	v.keyring.callLimit = CallLimit
	s, err := v.Get(ctx, "a")
	if s.Key != testKey {
		return fmt.Errorf("after unlocking: got %v, %w, want the key", s, err)
	}
	return p.none()
}

func lockedRefused(ctx context.Context) error {
	v, err := lockCollection(ctx)
	if err != nil {
		return err
	}
	p, err := newPrompter(func(p *prompter) { p.refuse = true })
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	results := make(chan error, 5)
	for range cap(results) {
		all.Go(func() {
			_, err := v.Get(ctx, "a")
			results <- failure("refused", err, ErrLocked, "closed without an answer")
		})
	}
	all.Wait()
	for range cap(results) {
		err = errors.Join(err, <-results)
	}
	_, promptErr := p.prompt(ctx)
	err = errors.Join(err, promptErr, p.none())
	_, again := v.Get(ctx, "a") // a retry asks again
	_, promptErr = p.prompt(ctx)
	return errors.Join(err, failure("retry", again, ErrLocked, ""), promptErr, p.none())
}

// lockedLeft: a caller leaves while the prompt is there; the next one profits from its answer.
func lockedLeft(ctx context.Context) error {
	v, err := lockCollection(ctx)
	if err != nil {
		return err
	}
	p, err := newPrompter(func(*prompter) {})
	if err != nil {
		return err
	}
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	first, second := make(chan error, 1), make(chan error, 1)
	get := func(ctx context.Context, result chan error) {
		s, err := v.Get(ctx, "a")
		if err == nil && s.Key != testKey {
			err = fmt.Errorf("got %d bytes", len(s.Key))
		}
		result <- err
	}
	go get(leaving, first)
	cancel, err := p.prompt(ctx)
	if err := errors.Join(err, whileLocked(ctx, v)); err != nil { // neither waits for the prompt
		return err
	}
	leave()
	err = failure("left", <-first, context.Canceled, "")
	go get(ctx, second)
	err = errors.Join(err, unlockElsewhere(ctx, "test-pass"))
	cancel()
	return errors.Join(err, <-second, p.none())
}

func startsWhenUsed(ctx context.Context) error {
	v := New(Options{})
	if s := v.Status(ctx)[2]; !s.Available || !strings.Contains(s.Detail, "starts") {
		return fmt.Errorf("got status %+v, want it to start when used", s)
	}
	return unavailable(ctx, "no default keyring")
}

// unavailable checks every method where there is no keyring.
func unavailable(ctx context.Context, says string) error {
	start := time.Now()
	v := New(Options{AgePath: filepath.Join(os.Getenv("IONCLAW_TEST_DIR"), "c.age")})
	_, err := v.Get(ctx, "a")
	_, whereErr := v.Where(ctx, "a")
	err = errors.Join(
		failure("get", err, ErrUnavailable, says), failure("remedy", err, ErrUnavailable, envIdentity), failure("where", whereErr, ErrUnavailable, says),
		failure("set", v.Set(ctx, "a", testKey), ErrUnavailable, says), failure("delete", v.Delete(ctx, "a"), ErrUnavailable, says))
	if s := v.Status(ctx)[2]; s.Available || !strings.Contains(s.Detail, says) {
		err = errors.Join(err, fmt.Errorf("got status %+v, want %q", s, says))
	}
	if took := time.Since(start); took > CallLimit {
		err = errors.Join(err, fmt.Errorf("took %v", took))
	}
	return err
}
