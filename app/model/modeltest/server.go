// Package modeltest is a model provider for tests: a server on 127.0.0.1 that speaks both wire styles and does what
// a script says, including everything that providers do wrong.
//
// A test pushes one Script for each request it expects, or sets a function that makes one from the request. The server
// records what it was asked, tells when a request started and when its client went away, and never sleeps unless a
// script says so: scripts wait on channels of the test. Without a script it answers three words at once.
//
//	/v1/messages          Anthropic Messages      base URL: Server.AnthropicURL
//	/v1/chat/completions  OpenAI chat completions base URL: Server.OpenAIURL
//	/v1/models            list of models, in the style that the request's headers show
//
// The wire formats follow https://docs.anthropic.com/en/api/messages-streaming and
// https://platform.openai.com/docs/api-reference/chat-streaming.
package modeltest

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"ionclaw-tray/app/session"
)

// startedBuffer is how many requests Started holds for a test that does not read it.
const startedBuffer = 1024

// maxBody bounds the body of one request.
const maxBody = 64 << 20

// Server is a scripted model provider. All methods are safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port

	http    *http.Server
	closed  chan struct{}
	started chan *Request

	mu       sync.Mutex
	queue    []Script
	answer   func(*Request) Script
	key      string
	models   []string
	requests []*Request
	conns    int
	once     sync.Once
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatalf("starting the model server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on a free port of 127.0.0.1. The caller closes it.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	s := &Server{
		URL:     "http://" + l.Addr().String(),
		closed:  make(chan struct{}),
		started: make(chan *Request, startedBuffer),
		models:  []string{"test-large", "test-small"},
		answer: func(*Request) Script {
			return Script{Chunks: []string{"Hello ", "from ", "modeltest."}, Usage: &session.Usage{Input: 12, Output: 3}}
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, Anthropic) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, OpenAI) })
	mux.HandleFunc("GET /v1/models", s.list)
	s.http = &http.Server{Handler: mux, ConnState: s.count}
	go s.http.Serve(l) //nolint:errcheck // returns ErrServerClosed after Close
	return s, nil
}

// Close ends the server and every request that hangs.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closed)
		s.http.Close()
	})
}

// OpenAIURL is the base_url of a provider of the OpenAI style.
func (s *Server) OpenAIURL() string { return s.URL + "/v1" }

// AnthropicURL is the base_url of a provider of the Anthropic style.
func (s *Server) AnthropicURL() string { return s.URL }

// Push appends scripts; each request takes the oldest one.
func (s *Server) Push(scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, scripts...)
}

// Handle sets what answers a request when no pushed script is left.
func (s *Server) Handle(answer func(*Request) Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// RequireKey makes the server refuse, in the style of each API, every request that does not carry this key.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// SetModels sets what /v1/models lists.
func (s *Server) SetModels(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = slices.Clone(ids)
}

// Started delivers each completion request when its body has been read and its key accepted, before anything is
// answered. It holds the first 1024 that nobody fetched; later ones are only in Requests.
func (s *Server) Started() <-chan *Request { return s.started }

// Requests returns all completion requests so far, in the order of their arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Connections returns how many TCP connections were opened so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *Server) count(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.mu.Lock()
		s.conns++
		s.mu.Unlock()
	}
}

// allowed checks the key and answers 401 in the style's own shape when it is wrong.
func (s *Server) allowed(w http.ResponseWriter, r *http.Request, style Style) bool {
	s.mu.Lock()
	want := s.key
	s.mu.Unlock()
	got := r.Header.Get("X-Api-Key")
	if style == OpenAI {
		got = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if want == "" || subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 {
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	if style == Anthropic {
		io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	} else {
		// The real API repeats the beginning of the key, which must not spread.
		got = got[:min(len(got), 8)] + "********"
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, got)
	}
	return false
}

func (s *Server) next(r *Request) Script {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	answer := s.answer
	var script Script
	queued := len(s.queue) > 0
	if queued {
		script, s.queue = s.queue[0], s.queue[1:]
	}
	s.mu.Unlock()
	if !queued {
		script = answer(r)
	}
	select {
	case s.started <- r:
	default:
	}
	return script
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, style Style) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "reading the body", http.StatusRequestEntityTooLarge)
		return
	}
	if !s.allowed(w, r, style) {
		return
	}
	req, err := parse(style, r, body)
	if err != nil {
		http.Error(w, `{"error":{"message":"the request is not valid JSON","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	script := s.next(req)
	defer close(req.done)
	stop := context.AfterFunc(r.Context(), func() { close(req.gone) })
	defer func() {
		// The script may have seen the end of the context before the function above was started.
		if stop() && r.Context().Err() != nil {
			close(req.gone)
		}
	}()
	p := &player{w: w, ctx: r.Context(), closed: s.closed, req: req, script: script}
	p.play()
}
