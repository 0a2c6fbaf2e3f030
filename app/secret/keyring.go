package secret

import (
	"context"
	"errors"
	"fmt"
	"time"

	zalando "github.com/zalando/go-keyring"
)

// Time limits of the keyring.
const (
	CallLimit   = 3 * time.Second  // for a call, and for each question about the keyring's state
	PromptLimit = 90 * time.Second // for a person to unlock the keyring
)

// keyringService is the service name under which keys are filed; the account is the credential's name.
const keyringService = "ionclaw"

// Keyring stores keys by credential name. Its methods may block for as long as they like and are called one at a time.
// A missing key is an error that wraps ErrNotFound.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, key string) error
	Delete(name string) error
}

// systemKeyring is the keyring of the operating system.
type systemKeyring struct{}

var _ Keyring = systemKeyring{}

func (systemKeyring) Get(name string) (string, error) {
	key, err := zalando.Get(keyringService, name)
	return key, systemError(name, err)
}

func (systemKeyring) Set(name, key string) error {
	return systemError(name, zalando.Set(keyringService, name, key))
}

func (systemKeyring) Delete(name string) error {
	return systemError(name, zalando.Delete(keyringService, name))
}

// systemError translates what the library has a value for.
func systemError(name string, err error) error {
	switch {
	case errors.Is(err, zalando.ErrNotFound):
		return notFound(name, "the keyring")
	case errors.Is(err, zalando.ErrSetDataTooBig):
		return &Error{Kind: ErrTooBig, What: fmt.Sprintf("the key of credential %q is too big for this system's keyring", name), Remedy: "use a shorter key"}
	case errors.Is(err, zalando.ErrUnsupportedPlatform):
		return unusable(err)
	}
	return err
}

// prober knows a keyring from outside: whether it is there and whether it is locked, without any risk of a prompt.
type prober interface {
	// state asks for the keyring's state. With start, a service that can be started is started.
	state(ctx context.Context, start bool) (keyringState, error)
	// unlock asks a person to unlock the keyring and waits for the answer, however long that takes. There is no way
	// to take a prompt back: GNOME Keyring 42 crashes when it is asked to, and keeps the prompt of a caller who left.
	unlock() error
	// has says whether a name is stored, without reading the key; known is false if only reading can tell.
	has(ctx context.Context, name string) (found, known bool, err error)
}

type keyringState struct {
	locked bool
	idle   bool // the service is not running and starts when it is first used
}

// blind is the prober where nothing can be known from outside.
type blind struct{}

func (blind) state(context.Context, bool) (keyringState, error)        { return keyringState{}, nil }
func (blind) unlock() error                                            { return nil }
func (blind) has(context.Context, string) (found, known bool, _ error) { return false, false, nil }

// keyring guards a Keyring with limits and typed errors. Reads of the same name share one call; all calls together
// share one lane, hence one prompt. Safe for concurrent use.
type keyring struct {
	backend Keyring
	prober  prober
	waiting func(bool) // never nil
	prompts bool       // the backend itself may prompt and there is no way to know before

	callLimit, promptLimit time.Duration

	lane    *lane
	flights flights
}

func newKeyring(backend Keyring, p prober, waiting func(bool)) *keyring {
	if waiting == nil {
		waiting = func(bool) {}
	}
	return &keyring{backend: backend, prober: p, waiting: waiting, callLimit: CallLimit, promptLimit: PromptLimit, lane: newLane()}
}

func (k *keyring) get(ctx context.Context, name string) (string, error) {
	return k.flights.do(ctx, name, func(ctx context.Context) (string, error) {
		return k.do(ctx, func() (string, error) { return k.backend.Get(name) })
	})
}

// set stores a key and reads it back: some keyrings cut or re-encode what they are given. If ctx ends meanwhile, the
// key may have been stored all the same.
func (k *keyring) set(ctx context.Context, name, key string) error {
	defer k.flights.drop(name)
	_, err := k.do(ctx, func() (string, error) {
		if err := k.backend.Set(name, key); err != nil {
			return "", err
		}
		kept, err := k.backend.Get(name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return "", fmt.Errorf("reading the key back: %w", err)
		}
		if err != nil || kept != key {
			return "", mismatch(name)
		}
		return "", nil
	})
	return err
}

func (k *keyring) delete(ctx context.Context, name string) error {
	defer k.flights.drop(name)
	_, err := k.do(ctx, func() (string, error) { return "", k.backend.Delete(name) })
	return err
}

// has says whether the keyring holds a name; where that can only be told by reading, it reads.
func (k *keyring) has(ctx context.Context, name string) (bool, error) {
	found, known, err := k.prober.has(ctx, name)
	if err != nil || known {
		return found, err
	}
	switch _, err = k.get(ctx, name); {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

func (k *keyring) status(ctx context.Context) SourceStatus {
	s := SourceStatus{Source: SourceKeyring}
	state, err := k.prober.state(ctx, false)
	switch {
	case err != nil:
		s.Detail = err.Error()
	case state.locked:
		s.Available, s.Locked, s.Detail = true, true, "locked; it asks for its password when a key is needed"
	case state.idle:
		s.Available, s.Detail = true, "starts when it is first used"
	default:
		s.Available, s.Detail = true, "unlocked"
	}
	return s
}

// do waits for the lane, makes sure that the keyring is there and unlocked, and calls it.
func (k *keyring) do(ctx context.Context, call func() (string, error)) (key string, err error) {
	seen := k.lane.seen()
	turn, err := k.lane.enter(ctx, k.callLimit)
	if err != nil {
		return "", err
	}
	held, err := k.open(ctx, turn, seen)
	if err == nil {
		key, held, err = k.call(ctx, turn, call)
	}
	if held {
		k.lane.leave(turn)
	}
	return key, k.explain(ctx, err)
}

// open unlocks the keyring if need be. Whoever was waiting while a person refused takes that answer: one refusal must
// not be followed by the prompts of everybody else in the queue. A prompt that its caller leaves stays open and keeps
// the lane, so that there is never a second one; its answer serves whoever comes next.
func (k *keyring) open(ctx context.Context, turn, seen uint64) (held bool, err error) {
	state, err := k.prober.state(ctx, true)
	if err != nil || !state.locked {
		return true, err
	}
	if err := k.lane.refusedSince(seen); err != nil {
		return true, err
	}
	_, held, err = k.lane.step(ctx, turn, k.promptLimit, func() (string, error) {
		k.waiting(true)
		defer k.waiting(false)
		err := k.prober.unlock()
		if err != nil {
			k.lane.refuse(err)
		}
		return "", err
	})
	if !held && ctx.Err() == nil {
		err = promptTimeout(k.promptLimit)
	}
	return held, err
}

func (k *keyring) call(ctx context.Context, turn uint64, call func() (string, error)) (key string, held bool, err error) {
	if !k.prompts {
		return k.lane.step(ctx, turn, k.callLimit, call)
	}
	// A silence may be a prompt: say so, and give the person time.
	return k.lane.step(ctx, turn, k.promptLimit, func() (string, error) {
		var mark waitMark
		timer := time.AfterFunc(k.callLimit, func() { mark.begin(k.waiting) })
		defer func() {
			timer.Stop()
			mark.end(k.waiting)
		}()
		return call()
	})
}

// explain gives an error of the library its type. The library has none for the usual cases, so the prober is asked
// again instead of looking at texts.
func (k *keyring) explain(ctx context.Context, err error) error {
	var typed *Error
	if err == nil || errors.As(err, &typed) || ctx.Err() != nil {
		return err
	}
	for _, kind := range []error{ErrNotFound, ErrUnavailable, ErrLocked, ErrTimeout, ErrTooBig} {
		if errors.Is(err, kind) {
			return err
		}
	}
	state, reason := k.prober.state(ctx, false)
	switch {
	case reason != nil:
		return reason
	case state.locked:
		return locked(err)
	}
	return unusable(err)
}
