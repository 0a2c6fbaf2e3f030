package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// net/http lingers for half a second on a connection that it refuses, so that
// the client can read why; that is longer than goleak looks. lumberjack never
// ends the goroutine that removes old logs, one for each log opened.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"),
		goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}

// start serves h on a free port and returns what Serve will return.
func start(t *testing.T, h http.Handler) (*Server, *Listeners, <-chan error) {
	t.Helper()
	l, err := Listen("", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := New(h, nil)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		http.DefaultClient.CloseIdleConnections()
	})
	return s, l, served
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestServeOnBothLoopbacks(t *testing.T) {
	s, l, served := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}))
	urls := []string{l.URL()}
	if l.v6 != nil {
		urls = append(urls, "http://"+l.v6.Addr().String())
	}
	for _, u := range urls {
		if got := get(t, u); got != "here" {
			t.Errorf("%s: got %q", u, got)
		}
	}
	if s.URL() != l.URL() {
		t.Errorf("URL: got %s, want %s", s.URL(), l.URL())
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
	open(t, "", l.Port()) // freed
}

func TestURLBeforeServe(t *testing.T) {
	if got := New(http.NotFoundHandler(), nil).URL(); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

// Long streams are ended through their context, on both addresses.
func TestShutdownEndsStreams(t *testing.T) {
	causes := make(chan error, 2)
	s, l, served := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		causes <- context.Cause(r.Context())
		_, _ = io.WriteString(w, "last\n")
	}))
	var wg sync.WaitGroup
	for _, ln := range l.all() {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "first\nlast\n" {
				t.Errorf("stream: got %q, %v; want both lines and a proper end", b, err)
			}
		})
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	wg.Wait()
	for range l.all() {
		if got := <-causes; !errors.Is(got, ErrShutdown) {
			t.Errorf("cause: got %v, want ErrShutdown", got)
		}
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// Who ends a request at a shutdown has the last word, not the context.
func TestShutdownLetsRequestsEndThemselves(t *testing.T) {
	told := make(chan struct{})
	s, l, served := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-told
		// Whatever comes between being told and answering must not be cut off.
		for range 100 {
			runtime.Gosched()
		}
		if r.Context().Err() != nil {
			_, _ = io.WriteString(w, "cut off")
			return
		}
		_, _ = io.WriteString(w, "stopped")
	}))
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(told) }))
	resp, err := http.Get(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "stopped" {
		t.Errorf("got %q, %v; want the handler's own end", b, err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A handler that ignores its context does not hold Shutdown up.
func TestShutdownKeepsItsDeadline(t *testing.T) {
	told, release := make(chan struct{}), make(chan struct{})
	s, l, served := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(told)
		<-release
	}))
	resp, err := http.Get(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-told; cancel() }()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: got %v, want the end of its context", err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the client got a proper end of a stream that was cut")
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	close(release)
}

// Connections that never sent a request (browsers open such) must not make
// Shutdown wait the five seconds that net/http grants them.
func TestShutdownDoesNotWaitForSilentConnections(t *testing.T) {
	s, l, served := start(t, http.NotFoundHandler())
	silent, err := net.Dial("tcp", l.v4.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	half, err := net.Dial("tcp", l.v4.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err := io.WriteString(half, "POST /mcp HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	get(t, l.URL()) // connections are accepted in order: the two are in
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestShutdownBeforeServe(t *testing.T) {
	s := New(http.NotFoundHandler(), nil)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := open(t, "", 0)
	if err := s.Serve(l); err != nil {
		t.Errorf("Serve: %v", err)
	}
	open(t, "", l.Port()) // closed by Serve
}

func TestServeReportsALostSocket(t *testing.T) {
	_, l, served := start(t, http.NotFoundHandler())
	get(t, l.URL())
	if err := l.v4.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the socket's error", err)
	}
}

func TestHeaderLimit(t *testing.T) {
	_, l, _ := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for size, want := range map[int]int{MaxHeader - 1024: 200, MaxHeader + 8192: 431} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Large", strings.Repeat("x", size))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("headers of %d bytes: got %d, want %d", size, resp.StatusCode, want)
		}
	}
}

// A time-out of the server must not cut a stream, see the contract's section
// on streaming.
func TestNoTimeoutCutsStreams(t *testing.T) {
	s := New(http.NotFoundHandler(), nil)
	if s.http.WriteTimeout != 0 || s.http.ReadTimeout != 0 {
		t.Errorf("WriteTimeout %v, ReadTimeout %v; want none", s.http.WriteTimeout, s.http.ReadTimeout)
	}
	if s.http.ReadHeaderTimeout != headerTimeout {
		t.Errorf("ReadHeaderTimeout %v, want %v", s.http.ReadHeaderTimeout, headerTimeout)
	}
}

// What net/http itself refuses never reaches the guard.
func TestBrokenHostHeaders(t *testing.T) {
	_, l, _ := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n": "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":              "400",
		"GET / HTTP/1.1\r\nHost: local host\r\n\r\n":                                   "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":               "200",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": "400",
	} {
		c, err := net.Dial("tcp", l.v4.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, request)
		answer := make([]byte, 12)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer[9:]) != want {
			t.Errorf("%q: got %q, %v; want %s", request, answer, err, want)
		}
		_ = c.Close()
	}
}
