//go:build (dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd

package secret

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/godbus/dbus/v5"
)

const envBus = "DBUS_SESSION_BUS_ADDRESS"

// busAddress finds the session bus that is already there. It has to be known before the keyring library is called:
// without an address the library's D-Bus client runs dbus-launch, which starts a bus that nobody else is on.
func busAddress() (string, bool) {
	if address := os.Getenv(envBus); address != "" && address != "autolaunch:" {
		return address, true
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	socket := filepath.Join(dir, "bus")
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return "", false
	}
	address := "unix:path=" + dbus.EscapeBusAddressValue(socket)
	// The client looks in /run/user only, so it has to be told about a runtime folder elsewhere.
	_ = os.Setenv(envBus, address)
	return address, true
}

// dialBus opens a private connection. Only the dialling is bound to ctx: the connection has to outlive it for as long
// as it takes to withdraw a prompt.
func dialBus(ctx context.Context, address string) (*dbus.Conn, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	type dialled struct {
		conn *dbus.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() {
		conn, err := dbus.Connect(address, dbus.WithContext(life))
		done <- dialled{conn, err}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			end()
			return nil, d.err
		}
		context.AfterFunc(d.conn.Context(), end)
		return d.conn, nil
	case <-ctx.Done():
		end() // closes the connection, so the goroutine ends too
		return nil, ctx.Err()
	}
}
