package server

import (
	"fmt"
	"runtime"
	"strings"
)

// HostError refuses a server.host that other machines could reach.
type HostError struct{ Host string }

func (e *HostError) Error() string {
	return fmt.Sprintf("server.host is %q, but this server may only listen on this machine: "+
		"use 127.0.0.1, or put a reverse proxy in front of it for others", e.Host)
}

// Holder is the process that listens on a port. The zero Holder is unknown:
// the process belongs to another user, or the system does not tell.
type Holder struct {
	PID  int
	Name string
}

func (h Holder) String() string {
	switch {
	case h.PID == 0:
		return "another program"
	case h.Name == "":
		return fmt.Sprintf("process %d", h.PID)
	default:
		return fmt.Sprintf("%s (process %d)", h.Name, h.PID)
	}
}

// PortInUse says that another process listens on the port.
type PortInUse struct {
	Address string // "127.0.0.1" or "[::1]"
	Port    int
	Holder  Holder
	Next    int // the next port that is free on both loopbacks, 0 if none is near
	Err     error
}

func (e *PortInUse) Error() string {
	return fmt.Sprintf("port %d on %s is already in use by %s: stop that program, or set server.port in config.yml %s",
		e.Port, e.Address, e.Holder, toNext(e.Next))
}

func (e *PortInUse) Unwrap() error { return e.Err }

// PortForbidden says that the system does not let this user have the port.
type PortForbidden struct {
	Port int
	Next int // the next port that is free on both loopbacks, 0 if none is near
	Err  error
}

func (e *PortForbidden) Error() string { return e.text(runtime.GOOS) }

func (e *PortForbidden) text(goos string) string {
	why := "the system does not allow it"
	switch {
	case goos == "windows":
		why = `Windows keeps a range of ports reserved that includes it ` +
			`("netsh interface ipv4 show excludedportrange protocol=tcp" lists them)`
	case e.Port < 1024:
		why = "ports below 1024 are reserved for the system's administrator"
	}
	return fmt.Sprintf("port %d cannot be used: %s; set server.port in config.yml %s", e.Port, why, toNext(e.Next))
}

func (e *PortForbidden) Unwrap() error { return e.Err }

// HalfOpen warns that the server has 127.0.0.1 but not [::1].
type HalfOpen struct {
	Port int
	Err  error // usually a *PortInUse
}

func (e *HalfOpen) Error() string {
	return fmt.Sprintf("listening on 127.0.0.1:%d only, a client that takes localhost for [::1] reaches something else: %s",
		e.Port, strings.TrimSuffix(e.Err.Error(), "."))
}

func (e *HalfOpen) Unwrap() error { return e.Err }

func toNext(port int) string {
	if port == 0 {
		return "to another port"
	}
	return fmt.Sprintf("to another port (%d is free)", port)
}
