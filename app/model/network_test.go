package model

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"ionclaw-tray/app/model/modeltest"
	"ionclaw-tray/app/session"
)

func asking(t *testing.T, style Style, base string, transport http.RoundTripper) error {
	t.Helper()
	e := newEndpoint(ProviderConfig{Name: "acme", BaseURL: base, Style: style}, noKey, quiet)
	if transport != nil {
		e.client = &http.Client{Transport: transport, CheckRedirect: sharedClient.CheckRedirect}
	}
	var p Provider = openAI{e}
	if style == StyleAnthropic {
		p = anthropicStyle{e}
	}
	_, err := p.Stream(t.Context(), Request{Model: "one", Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, nil)
	return err
}

func TestClosedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	for _, style := range []Style{StyleOpenAI, StyleAnthropic} {
		e := wantClass(t, asking(t, style, "http://"+addr+"/v1", nil), ConnectionRefused)
		if !strings.Contains(e.Error(), "provider 'acme'") || !strings.Contains(e.Error(), "(model: acme/one)") || strings.Contains(e.Error(), addr) {
			t.Errorf("got %q", e)
		}
	}
}

func TestUnknownHost(t *testing.T) {
	for _, c := range []struct {
		dns  *net.DNSError
		want Class
	}{
		{&net.DNSError{Err: "no such host", Name: "model.invalid", IsNotFound: true}, HostNotFound},
		{&net.DNSError{Err: "server misbehaving", Name: "model.invalid", IsTemporary: true}, HostNotFound},
		{&net.DNSError{Err: "i/o timeout", Name: "model.invalid", IsTimeout: true}, Timeout},
	} {
		tr := newTransport(func(*http.Request) (*url.URL, error) { return nil, nil })
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: c.dns}
		}
		for _, style := range []Style{StyleOpenAI, StyleAnthropic} {
			wantClass(t, asking(t, style, "https://model.invalid/v1", tr), c.want)
		}
	}
}

func TestNetworkFailures(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return &url.Error{Op: "Post", URL: "http://user:pw@x/", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}}
	}
	for _, c := range []struct {
		err  error
		want Class
		says string
	}{
		{dial(syscall.ECONNREFUSED), ConnectionRefused, ""},
		{dial(wsaConnRefused), ConnectionRefused, ""},
		{dial(syscall.EHOSTUNREACH), ConnectionRefused, saysUnreachable},
		{dial(wsaNetUnreachable), ConnectionRefused, saysUnreachable},
		{dial(syscall.ETIMEDOUT), Timeout, ""},
		{dial(syscall.ECONNRESET), Overloaded, saysClosed},
		{&net.OpError{Op: "proxyconnect", Err: dial(syscall.ECONNREFUSED)}, ConnectionRefused, saysProxy},
		{io.ErrUnexpectedEOF, Overloaded, saysClosed},
		{&url.Error{Err: io.EOF}, Overloaded, saysClosed},
		{context.DeadlineExceeded, Timeout, ""},
		{os.ErrDeadlineExceeded, Timeout, ""},
		{tls.RecordHeaderError{}, Unknown, saysNoTLS},
		{errors.New("something else"), Unknown, ""},
	} {
		if got, says := classify(c.err); got != c.want || says != c.says {
			t.Errorf("%v: got %s, %q; want %s, %q", c.err, got, says, c.want, c.says)
		}
	}
	if got := plain(dial(syscall.ECONNREFUSED)).Error(); strings.Contains(got, "http") {
		t.Errorf("got %q, want no address", got)
	}
}

func TestSecureConnections(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	if e := wantClass(t, asking(t, StyleOpenAI, s.URL+"/v1", nil), Unknown); !strings.Contains(e.Error(), "certificate") {
		t.Errorf("unknown authority: got %q", e)
	}
	plainServer := modeltest.New(t)
	if e := wantClass(t, asking(t, StyleOpenAI, "https"+strings.TrimPrefix(plainServer.OpenAIURL(), "http"), nil), Unknown); !strings.Contains(e.Error(), "does not speak HTTPS") {
		t.Errorf("no TLS: got %q", e)
	}
}

func TestProxy(t *testing.T) {
	used := make(chan string, 4)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used <- r.Host
		http.Error(w, "closed", http.StatusBadGateway)
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTransport(http.ProxyURL(u))
	defer tr.CloseIdleConnections()
	s := modeltest.New(t)
	if err := asking(t, StyleOpenAI, s.OpenAIURL(), tr); err != nil {
		t.Errorf("loopback: got %v, want a direct connection", err)
	}
	if err := asking(t, StyleOpenAI, strings.Replace(s.OpenAIURL(), "127.0.0.1", "localhost", 1), tr); err != nil {
		t.Errorf("localhost: got %v, want a direct connection", err)
	}
	select {
	case host := <-used:
		t.Errorf("the proxy was asked for %s", host)
	default:
	}
	wantClass(t, asking(t, StyleOpenAI, "http://model.example/v1", tr), Overloaded)
	if host := <-used; host != "model.example" {
		t.Errorf("the proxy was asked for %q, want model.example", host)
	}
	dead := newTransport(http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}))
	if e := wantClass(t, asking(t, StyleOpenAI, "http://model.example/v1", dead), ConnectionRefused); !strings.Contains(e.Error(), "HTTP_PROXY") {
		t.Errorf("got %q, want the proxy named", e)
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example": false, "notlocalhost": false, "10.0.0.1": false, "0.0.0.0": false, "::2": false, "127.0.0.1.example": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("Loopback(%q): got %v, want %v", host, got, want)
		}
	}
}
