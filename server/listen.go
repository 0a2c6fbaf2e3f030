package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Listeners are the sockets of one port on the loopback addresses.
type Listeners struct {
	v4, v6  net.Listener // v6 is nil where the host has no [::1] or it is held
	warning error
}

// pickAttempts bounds how often Listen looks for a port that is free on both
// addresses when it may choose.
const pickAttempts = 32

// Listen opens port on 127.0.0.1 and, where the host has it, on [::1]: a
// client's "localhost" may mean either. host may be "", localhost, 127.0.0.1
// or [::1], which all stand for both; port 0 takes one that is free on both.
//
// Errors: [*HostError], [*PortInUse], [*PortForbidden]. If only [::1] is held
// by another process Listen succeeds and [Listeners.Warning] says so.
func Listen(host string, port int) (*Listeners, error) {
	if !loopbackHost(host) {
		return nil, &HostError{Host: host}
	}
	if port < 0 || port > 65535 {
		return nil, fmt.Errorf("server.port is %d; it must be between 1 and 65535, or 0 to take a free one", port)
	}
	for attempt := 1; ; attempt++ {
		v4, err := listen("tcp4", "127.0.0.1", port)
		if err != nil {
			return nil, listenError("127.0.0.1", port, err)
		}
		l := &Listeners{v4: v4}
		l.v6, err = listen("tcp6", "::1", l.Port())
		switch {
		case err == nil, noSuchAddress(err):
			return l, nil
		case port == 0 && attempt < pickAttempts:
			_ = v4.Close()
		default:
			l.warning = &HalfOpen{Port: l.Port(), Err: listenError("[::1]", l.Port(), err)}
			return l, nil
		}
	}
}

// NextFree finds the first port above the given one that is free on both
// loopbacks, to be offered in place of it. It may be taken again by the time
// it is used. 0: there is none among the next hundred.
func NextFree(port int) int {
	for p := port + 1; p <= min(port+100, 65535); p++ {
		v4, err := listen("tcp4", "127.0.0.1", p)
		if err != nil {
			continue
		}
		_ = v4.Close()
		v6, err := listen("tcp6", "::1", p)
		if err == nil {
			_ = v6.Close()
		}
		if err == nil || noSuchAddress(err) {
			return p
		}
	}
	return 0
}

// Port is the port both sockets have.
func (l *Listeners) Port() int { return l.v4.Addr().(*net.TCPAddr).Port }

// URL is the base address to show and to write into client files. It names
// 127.0.0.1, which unlike localhost means the same to every client, and comes
// from the live socket, so that it is right after a change of port.
func (l *Listeners) URL() string { return "http://127.0.0.1:" + strconv.Itoa(l.Port()) }

// Warning is a [*HalfOpen] if the server can be reached on 127.0.0.1 only
// because something else holds [::1]; else nil.
func (l *Listeners) Warning() error { return l.warning }

// Close closes the sockets. A [Server] that was given them does so itself.
func (l *Listeners) Close() error {
	var errs []error
	for _, ln := range l.all() {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}

func (l *Listeners) all() []net.Listener {
	if l.v6 == nil {
		return []net.Listener{l.v4}
	}
	return []net.Listener{l.v4, l.v6}
}

func listen(network, host string, port int) (net.Listener, error) {
	return net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
}

func loopbackHost(host string) bool {
	switch host {
	case "", "localhost", "127.0.0.1", "::1", "[::1]":
		return true
	}
	return false
}

// noSuchAddress tells that the host has no IPv6 loopback, by the errors of a
// kernel without IPv6 and of an interface without the address.
func noSuchAddress(err error) bool {
	var addr *net.AddrError // "no suitable address found"
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT) || errors.As(err, &addr) || addressMissing(err)
}

func listenError(address string, port int, err error) error {
	switch {
	case portInUse(err):
		return &PortInUse{Address: address, Port: port, Holder: findHolder(port), Next: NextFree(port), Err: err}
	case portForbidden(err):
		return &PortForbidden{Port: port, Next: NextFree(max(port, 1023)), Err: err}
	default:
		return fmt.Errorf("listening on %s:%d: %w", address, port, err)
	}
}
