// Package server is the HTTP server of the program: sockets on the loopback
// addresses, the table of paths, and the life cycle.
//
// Data direction: [Listen] opens the sockets, [Mount] puts the handlers of the
// MCP endpoint and of the local API behind their paths, [Server] joins the two
// and ends them together. Who may call what is decided in server/guard, what
// is answered in server/mcp and server/rest.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// headerTimeout bounds how long a client may take to send its headers.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection without a request stays open. IDEs
	// pause for minutes between calls and gain from a warm connection.
	idleTimeout = 5 * time.Minute
	// endGrace is how long requests that are running at a shutdown have to end
	// by themselves. Whoever ends them first (the MCP channel fails its calls)
	// wants its last words to arrive, and a cancelled context reads like a
	// client that has left.
	endGrace = 500 * time.Millisecond
	// lastWords is how long a client then has to take what it is still sent.
	// One that stopped sending or reading must not hold up the end.
	lastWords = 500 * time.Millisecond
	// MaxHeader bounds the headers of a request, in bytes.
	MaxHeader = 64 << 10
)

// ErrShutdown is the cause with which the contexts of requests are cancelled
// when the server ends.
var ErrShutdown = errors.New("the server is shutting down")

// Server serves one handler on a set of [Listeners]. There is no write
// time-out: streams last as long as their sessions and are ended through the
// context of their request.
type Server struct {
	http   http.Server
	cancel context.CancelCauseFunc
	// ended is over when Shutdown has nothing left to wait for.
	ended    context.Context
	setEnded context.CancelFunc

	mu        sync.Mutex
	listeners *Listeners
	fresh     map[net.Conn]struct{} // connected, no request read yet
	busy      map[net.Conn]struct{} // a request is being read or answered
	closing   bool
}

// New makes a server for the handler. log takes what net/http has to say about
// single connections; nil discards it.
func New(handler http.Handler, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	base, cancel := context.WithCancelCause(context.Background())
	s := &Server{cancel: cancel, fresh: map[net.Conn]struct{}{}, busy: map[net.Conn]struct{}{}}
	s.ended, s.setEnded = context.WithCancel(context.Background())
	s.http = http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    MaxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         s.connState,
	}
	// Runs once the listeners are closed: nothing new can arrive after it.
	s.http.RegisterOnShutdown(func() {
		s.closeFresh()
		select {
		case <-time.After(endGrace):
			s.cancel(ErrShutdown)
			s.hurryBusy()
		case <-s.ended.Done():
		}
	})
	return s
}

// Serve accepts connections until Shutdown, then returns nil; it does so at
// once if Shutdown came first. If a socket fails it ends the others and returns
// the error. It takes the listeners over and may be called once.
func (s *Server) Serve(l *Listeners) error {
	s.mu.Lock()
	s.listeners = l
	s.mu.Unlock()
	all := l.all()
	results := make(chan error, len(all))
	for _, ln := range all {
		go func() { results <- s.http.Serve(ln) }()
	}
	var first error
	for range all {
		err := <-results
		if errors.Is(err, http.ErrServerClosed) {
			continue
		}
		if first == nil {
			first = fmt.Errorf("accepting connections: %w", err)
			s.cancel(ErrShutdown)
			_ = s.http.Close()
		}
	}
	return first
}

// URL is the base address of the live listener, "" before Serve.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		return ""
	}
	return s.listeners.URL()
}

// Shutdown stops accepting, gives running requests half a second to end by
// themselves, then cancels the context of those that are left with the cause
// [ErrShutdown] and gives their clients another half for sending and taking
// what is left, and waits until all have been answered. When ctx ends first,
// what is left is cut off and an error says so; Shutdown is always back within
// the deadline of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.setEnded()
	s.cancel(ErrShutdown)
	s.closeFresh() // ctx may have been over before net/http ran its hooks
	if err != nil {
		_ = s.http.Close()
		return fmt.Errorf("waiting for running requests to end: %w", err)
	}
	return nil
}

// closeFresh closes connections that have not sent a request: net/http would
// wait seconds for each of those. May be repeated.
func (s *Server) closeFresh() {
	s.mu.Lock()
	s.closing = true
	fresh := s.fresh
	s.fresh = map[net.Conn]struct{}{}
	s.mu.Unlock()
	for c := range fresh {
		_ = c.Close()
	}
}

// hurryBusy ends reads of requests at once and writes of answers soon: handlers
// that wait for a client notice no cancelled context.
func (s *Server) hurryBusy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for c := range s.busy {
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now.Add(lastWords))
	}
}

// connState keeps the sets of connections without a request and with one.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	closing := s.closing
	if state == http.StateNew {
		s.fresh[c] = struct{}{}
	} else {
		delete(s.fresh, c)
	}
	if state == http.StateActive {
		s.busy[c] = struct{}{}
	} else {
		delete(s.busy, c)
	}
	s.mu.Unlock()
	if closing && state == http.StateNew { // accepted just before the end
		_ = c.Close()
	}
}
