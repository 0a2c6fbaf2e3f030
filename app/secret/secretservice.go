//go:build (dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd

package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
)

// Names of the Secret Service API, https://specifications.freedesktop.org/secret-service/latest/.
const (
	secretsName     = "org.freedesktop.secrets"
	secretsPath     = dbus.ObjectPath("/org/freedesktop/secrets")
	loginPath       = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	noPath          = dbus.ObjectPath("/")
	serviceIface    = "org.freedesktop.Secret.Service"
	collectionIface = "org.freedesktop.Secret.Collection"
	promptIface     = "org.freedesktop.Secret.Prompt"
	busIface        = "org.freedesktop.DBus"
)

// secretService asks the Secret Service over private connections, each closed after its question. Nothing here reads a
// key, and nothing but unlock can make a prompt appear.
type secretService struct {
	limit time.Duration // for a question
}

var _ prober = secretService{}

func (s secretService) state(ctx context.Context, start bool) (state keyringState, err error) {
	err = s.with(ctx, func(ctx context.Context, conn *dbus.Conn) error {
		state, _, err = collection(ctx, conn, start)
		return err
	})
	return state, err
}

func (s secretService) has(ctx context.Context, name string) (found, known bool, err error) {
	err = s.with(ctx, func(ctx context.Context, conn *dbus.Conn) error {
		if state, _, err := collection(ctx, conn, true); err != nil || state.idle {
			return err
		}
		var unlocked, locked []dbus.ObjectPath
		attributes := map[string]string{"service": keyringService, "username": name} // as the library files them
		err := conn.Object(secretsName, secretsPath).CallWithContext(ctx, serviceIface+".SearchItems", 0, attributes).Store(&unlocked, &locked)
		found = len(unlocked)+len(locked) > 0
		return err
	})
	return found, err == nil, err
}

// unlock shows the keyring's own prompt and waits for the answer.
func (s secretService) unlock() error {
	background := context.Background()
	address, ok := busAddress()
	if !ok {
		return noBus()
	}
	limited, cancel := context.WithTimeout(background, s.limit)
	defer cancel()
	conn, err := dialBus(limited, address)
	if err != nil {
		return s.explain(background, limited, address, err)
	}
	defer func() { _ = conn.Close() }()
	state, path, err := collection(limited, conn, true)
	if err != nil || !state.locked {
		return s.explain(background, limited, address, err)
	}
	unlocked, prompt := []dbus.ObjectPath(nil), noPath
	err = conn.Object(secretsName, secretsPath).CallWithContext(limited, serviceIface+".Unlock", 0, []dbus.ObjectPath{path}).Store(&unlocked, &prompt)
	dismissed := false
	if err == nil && prompt != noPath {
		dismissed, err = answer(conn, prompt)
	}
	if err != nil {
		return s.explain(background, limited, address, err)
	}
	// What counts is the lock: somebody may have opened it elsewhere while the prompt was there, and services differ in
	// what they say of a prompt that they could not show.
	switch state, err := s.state(background, false); {
	case err != nil:
		return err
	case state.locked && dismissed:
		return locked(errors.New("the prompt was closed without an answer"))
	case state.locked:
		return locked(errors.New("the prompt could not be shown"))
	}
	return nil
}

// answer shows a prompt and waits until it is completed, or the service has gone.
func answer(conn *dbus.Conn, prompt dbus.ObjectPath) (dismissed bool, err error) {
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchObjectPath(prompt), dbus.WithMatchInterface(promptIface), dbus.WithMatchMember("Completed")},
		{dbus.WithMatchInterface(busIface), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, secretsName)},
	} {
		if err := conn.AddMatchSignal(match...); err != nil {
			return false, err
		}
	}
	shown := conn.Object(secretsName, prompt).Go(promptIface+".Prompt", 0, make(chan *dbus.Call, 1), "")
	replied := shown.Done
	for {
		select {
		case <-replied:
			if shown.Err != nil {
				return false, shown.Err
			}
			replied = nil
		case signal, ok := <-signals:
			switch {
			case !ok:
				return false, errors.New("the session bus closed the connection")
			case signal.Name == busIface+".NameOwnerChanged":
				if name, _ := first[string](signal.Body); name == secretsName {
					return false, errors.New("the keyring service ended while it was waiting for an answer")
				}
			case signal.Name == promptIface+".Completed" && signal.Path == prompt:
				dismissed, _ = first[bool](signal.Body)
				return dismissed, nil
			}
		}
	}
}

func first[T any](body []any) (T, bool) {
	var zero T
	if len(body) == 0 {
		return zero, false
	}
	v, ok := body[0].(T)
	return v, ok
}

// collection finds the collection that the keyring library uses, "login" or else the default one, and its lock.
func collection(ctx context.Context, conn *dbus.Conn, start bool) (keyringState, dbus.ObjectPath, error) {
	var owned bool
	if err := conn.BusObject().CallWithContext(ctx, busIface+".NameHasOwner", 0, secretsName).Store(&owned); err != nil {
		return keyringState{}, noPath, err
	}
	if !owned {
		var names []string
		if err := conn.BusObject().CallWithContext(ctx, busIface+".ListActivatableNames", 0).Store(&names); err != nil {
			return keyringState{}, noPath, err
		}
		if !slices.Contains(names, secretsName) {
			return keyringState{}, noPath, noService()
		}
		if !start {
			return keyringState{idle: true}, noPath, nil
		}
	}
	service := conn.Object(secretsName, secretsPath)
	path := loginPath
	var all []dbus.ObjectPath
	if err := property(ctx, service, serviceIface, "Collections", &all); err != nil || !slices.Contains(all, loginPath) {
		if err := service.CallWithContext(ctx, serviceIface+".ReadAlias", 0, "default").Store(&path); err != nil {
			return keyringState{}, noPath, err
		}
		if path == noPath || path == "" {
			return keyringState{}, noPath, noCollection()
		}
	}
	state := keyringState{}
	err := property(ctx, conn.Object(secretsName, path), collectionIface, "Locked", &state.locked)
	return state, path, err
}

// property reads a property under ctx, which the client's own getter does not take.
func property(ctx context.Context, object dbus.BusObject, iface, name string, into any) error {
	var v dbus.Variant
	if err := object.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, iface, name).Store(&v); err != nil {
		return err
	}
	return dbus.Store([]any{v.Value()}, into)
}

// with asks one question over a connection of its own, within the limit.
func (s secretService) with(ctx context.Context, ask func(ctx context.Context, conn *dbus.Conn) error) error {
	address, ok := busAddress()
	if !ok {
		return noBus()
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	conn, err := dialBus(limited, address)
	if err != nil {
		return s.explain(ctx, limited, address, err)
	}
	defer func() { _ = conn.Close() }()
	return s.explain(ctx, limited, address, ask(limited, conn))
}

// explain gives an error its type. caller is the context we were given, limited the one that also has our limit.
func (s secretService) explain(caller, limited context.Context, address string, err error) error {
	var typed *Error
	var answered dbus.Error
	switch {
	case err == nil, errors.As(err, &typed):
		return err
	case caller.Err() != nil:
		return fmt.Errorf("asking the keyring service: %w", caller.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return callTimeout(s.limit)
	case errors.As(err, &answered):
		if answered.Name == "org.freedesktop.DBus.Error.ServiceUnknown" || answered.Name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
			return noService()
		}
		return unusable(err)
	}
	return deadBus(address, err)
}
