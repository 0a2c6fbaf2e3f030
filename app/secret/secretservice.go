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
func (s secretService) unlock(ctx context.Context) error {
	address, ok := busAddress()
	if !ok {
		return noBus()
	}
	conn, err := dialBus(ctx, address)
	if err != nil {
		return s.explain(ctx, ctx, address, err)
	}
	defer func() { _ = conn.Close() }()
	state, path, err := collection(ctx, conn, true)
	if err != nil || !state.locked {
		return s.explain(ctx, ctx, address, err)
	}
	var unlocked []dbus.ObjectPath
	prompt := noPath
	err = conn.Object(secretsName, secretsPath).CallWithContext(ctx, serviceIface+".Unlock", 0, []dbus.ObjectPath{path}).Store(&unlocked, &prompt)
	if err == nil && prompt != noPath {
		err = answer(ctx, conn, prompt)
	}
	if err == nil {
		// A prompt that could not be shown also counts as completed for some services.
		if state, _, err = collection(ctx, conn, false); err == nil && state.locked {
			return locked(errors.New("the prompt could not be shown"))
		}
	}
	return s.explain(ctx, ctx, address, err)
}

// answer shows a prompt and waits until it is completed or ctx ends; then the prompt is withdrawn.
func answer(ctx context.Context, conn *dbus.Conn, prompt dbus.ObjectPath) error {
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchObjectPath(prompt), dbus.WithMatchInterface(promptIface), dbus.WithMatchMember("Completed")},
		{dbus.WithMatchInterface(busIface), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, secretsName)},
	} {
		if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
			return err
		}
	}
	object := conn.Object(secretsName, prompt)
	if err := object.CallWithContext(ctx, promptIface+".Prompt", 0, "").Err; err != nil {
		return err
	}
	for {
		select {
		case signal, ok := <-signals:
			switch {
			case !ok:
				return errors.New("the session bus closed the connection")
			case signal.Name == busIface+".NameOwnerChanged":
				if len(signal.Body) > 0 && signal.Body[0] == secretsName {
					return errors.New("the keyring service ended while it was waiting for an answer")
				}
			case signal.Name == promptIface+".Completed" && signal.Path == prompt:
				if dismissed, ok := first[bool](signal.Body); ok && dismissed {
					return locked(errors.New("the prompt was closed without an answer"))
				}
				return nil
			}
		case <-ctx.Done():
			object.Go(promptIface+".Dismiss", dbus.FlagNoReplyExpected, nil)
			return ctx.Err()
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

// explain types an error. caller is the context we were given, limited the one that also has our limit.
func (s secretService) explain(caller, limited context.Context, address string, err error) error {
	var typed *Error
	var answered dbus.Error
	switch {
	case err == nil, errors.As(err, &typed):
		return err
	case caller.Err() != nil:
		return fmt.Errorf("asking the keyring service: %w", caller.Err())
	case limited.Err() != nil:
		return callTimeout(s.limit)
	case errors.As(err, &answered):
		if answered.Name == "org.freedesktop.DBus.Error.ServiceUnknown" || answered.Name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
			return noService()
		}
		return unusable(err)
	}
	return deadBus(address, err)
}
