package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// hasIPv6 finds out independently of Listen whether this host has [::1].
func hasIPv6(t *testing.T) bool {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(net.IPv6loopback) {
			return true
		}
	}
	return false
}

func open(t *testing.T, host string, port int) *Listeners {
	t.Helper()
	l, err := Listen(host, port)
	if err != nil {
		t.Fatalf("Listen(%q, %d): %v", host, port, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestListenOnBothLoopbacks(t *testing.T) {
	for _, host := range []string{"", "localhost", "127.0.0.1", "::1", "[::1]"} {
		l := open(t, host, 0)
		if got, want := l.v4.Addr().String(), "127.0.0.1:"+strconv.Itoa(l.Port()); got != want {
			t.Errorf("host %q: listening on %s, want %s", host, got, want)
		}
		if got, want := l.URL(), "http://"+l.v4.Addr().String(); got != want {
			t.Errorf("host %q: URL %s, want %s", host, got, want)
		}
		if l.Warning() != nil {
			t.Errorf("host %q: warning %v", host, l.Warning())
		}
		if got := l.v6 != nil; got != hasIPv6(t) {
			t.Fatalf("host %q: listening on [::1] is %v, the host has it: %v", host, got, hasIPv6(t))
		}
		if l.v6 != nil {
			if got, want := l.v6.Addr().String(), "[::1]:"+strconv.Itoa(l.Port()); got != want {
				t.Errorf("host %q: listening on %s, want %s", host, got, want)
			}
		}
	}
}

func TestListenRefusesOtherHosts(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "::", "127.0.0.2", "192.168.1.1", "example.com", "localhost.", " "} {
		_, err := Listen(host, 0)
		var hostErr *HostError
		if !errors.As(err, &hostErr) || !strings.Contains(err.Error(), "server.host") {
			t.Errorf("host %q: got %v, want a HostError that names server.host", host, err)
		}
	}
	for _, port := range []int{-1, 65536} {
		if _, err := Listen("", port); err == nil || !strings.Contains(err.Error(), "server.port") {
			t.Errorf("port %d: got %v, want an error that names server.port", port, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	held := open(t, "", 0)
	_, err := Listen("", held.Port())
	var inUse *PortInUse
	if !errors.As(err, &inUse) {
		t.Fatalf("got %v, want *PortInUse", err)
	}
	if inUse.Port != held.Port() || inUse.Err == nil || inUse.Address != "127.0.0.1" {
		t.Errorf("got %+v", inUse)
	}
	if _, statErr := os.Stat("/proc/self/fd"); statErr == nil && inUse.Holder.PID != os.Getpid() {
		t.Errorf("holder: got %+v, want this process %d", inUse.Holder, os.Getpid())
	}
	for _, want := range []string{strconv.Itoa(held.Port()), "server.port", inUse.Holder.String(), strconv.Itoa(inUse.Next) + " is free"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the text lacks %q: %v", want, err)
		}
	}
	open(t, "", inUse.Next) // the offer can be taken
}

func TestIPv6HeldByAnother(t *testing.T) {
	other, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		if hasIPv6(t) {
			t.Fatal(err)
		}
		return // TestListenOnBothLoopbacks covers a host without it
	}
	defer other.Close()
	port := other.Addr().(*net.TCPAddr).Port
	l := open(t, "", port)
	var half *HalfOpen
	var inUse *PortInUse
	if !errors.As(l.Warning(), &half) || !errors.As(l.Warning(), &inUse) {
		t.Fatalf("warning: got %v, want *HalfOpen with a *PortInUse", l.Warning())
	}
	if l.Port() != port || l.v6 != nil || inUse.Address != "[::1]" {
		t.Errorf("got port %d, v6 %v, %+v", l.Port(), l.v6, inUse)
	}
	if text := l.Warning().Error(); !strings.Contains(text, "[::1]") || !strings.Contains(text, inUse.Holder.String()) {
		t.Errorf("the warning does not say what is wrong: %s", text)
	}
	if next := NextFree(port - 1); next == port {
		t.Errorf("NextFree offers %d, which is held on [::1]", next)
	}
}

func TestNextFreeAtTheEnd(t *testing.T) {
	if got := NextFree(65535); got != 0 {
		t.Errorf("after the last port: got %d, want 0", got)
	}
}

func TestPortForbidden(t *testing.T) {
	denied := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}
	err := listenError("127.0.0.1", 80, denied)
	var forbidden *PortForbidden
	if !errors.As(err, &forbidden) || !errors.Is(err, syscall.EACCES) || forbidden.Port != 80 {
		t.Fatalf("got %#v, want *PortForbidden for port 80", err)
	}
	if forbidden.Next < 1024 {
		t.Errorf("offers port %d, which may be forbidden too", forbidden.Next)
	}
	for goos, want := range map[string]string{"linux": "below 1024", "windows": "excludedportrange"} {
		if text := forbidden.text(goos); !strings.Contains(text, want) || !strings.Contains(text, "server.port") {
			t.Errorf("%s: %s", goos, text)
		}
	}
	if text := (&PortForbidden{Port: 8080}).text("linux"); strings.Contains(text, "1024") {
		t.Errorf("port 8080 is not below 1024: %s", text)
	}
}

func TestOtherListenErrorsKeepTheirCause(t *testing.T) {
	err := listenError("127.0.0.1", 9, syscall.EMFILE)
	if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "127.0.0.1:9") {
		t.Errorf("got %v", err)
	}
}

func TestHolderText(t *testing.T) {
	for h, want := range map[Holder]string{
		{}: "another program", {PID: 7}: "process 7", {PID: 7, Name: "ollama"}: "ollama (process 7)",
	} {
		if got := h.String(); got != want {
			t.Errorf("%+v: got %q, want %q", h, got, want)
		}
	}
}

func TestCloseFreesThePort(t *testing.T) {
	l := open(t, "", 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, "", l.Port())
	if again.Warning() != nil {
		t.Errorf("after Close: %v", again.Warning())
	}
}

// write makes a file below a folder of the test.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
