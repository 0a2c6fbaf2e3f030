package mcp

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Header names, in the form that net/http keys them by.
const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-Id"
)

// firstRead is how much memory a body gets before its first byte, whatever length its header claims.
const firstRead = 64 << 10

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.closed.Load() {
		refuse(w, http.StatusServiceUnavailable, nil, &rpcError{code: codeInternal, message: "the server is shutting down"})
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.servePost(w, r)
	case http.MethodGet:
		s.serveGet(w, r)
	case http.MethodDelete:
		s.serveDelete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, nil, &rpcError{code: codeInvalidRequest,
			message: "method " + clip(r.Method, 32) + " is not allowed here; MCP uses POST, GET and DELETE"})
	}
}

func (s *Server) servePost(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r.Header.Get("Content-Type")) {
		refuse(w, http.StatusUnsupportedMediaType, nil, &rpcError{code: codeInvalidRequest,
			message: "Content-Type must be application/json"})
		return
	}
	body, err := readBody(r)
	if err != nil {
		refuseBody(w, err)
		return
	}
	if err := checkJSON(body); err != nil {
		fault := &rpcError{code: codeParse, message: "the body is not valid JSON"}
		if errors.Is(err, errDepth) {
			fault = &rpcError{code: codeInvalidRequest,
				message: "the body is nested more than " + strconv.Itoa(maxDepth) + " levels deep"}
		}
		refuse(w, http.StatusBadRequest, nil, fault)
		return
	}
	if kindOf(body) == kindArray {
		s.serveBatch(w, r, body)
		return
	}
	m, fault := parseMessage(body)
	if fault == nil {
		fault = checkVersion(r.Header.Get(headerVersion), &m)
	}
	if fault != nil {
		refuse(w, http.StatusBadRequest, m.id, fault)
		return
	}
	if m.request() && string(m.method) == "initialize" {
		s.initialize(w, r, &m)
		return
	}
	sess := s.findSession(w, r, m.id)
	if sess == nil {
		return
	}
	switch {
	case !m.request():
		s.notified(sess, &m)
		w.WriteHeader(http.StatusAccepted)
	case string(m.method) == "tools/call":
		s.serveCall(w, r, sess, &m)
	default:
		buf := s.answer(r.Context(), sess, &m, takeBuffer())
		reply(w, http.StatusOK, buf)
		giveBuffer(buf)
	}
}

// findSession looks up the session of a request and marks it used, or answers that there is none.
func (s *Server) findSession(w http.ResponseWriter, r *http.Request, id []byte) *session {
	name := r.Header.Get(headerSession)
	if name == "" {
		refuse(w, http.StatusBadRequest, id, &rpcError{code: codeInvalidRequest,
			message: "the Mcp-Session-Id header is missing; send initialize first"})
		return nil
	}
	sess := s.table.get(name)
	if sess == nil {
		refuse(w, http.StatusNotFound, id, noSession())
		return nil
	}
	s.touch(sess, time.Now())
	return sess
}

func noSession() *rpcError {
	return &rpcError{code: codeInvalidRequest, message: "this session is unknown, closed or expired; send initialize again"}
}

func (s *Server) serveGet(w http.ResponseWriter, r *http.Request) {
	if fault := checkVersion(r.Header.Get(headerVersion), &message{}); fault != nil {
		refuse(w, http.StatusBadRequest, nil, fault)
		return
	}
	if r.Header.Get(headerSession) == "" {
		// Clients probe with a bare GET; some loop for ever on a 400.
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, nil, &rpcError{code: codeInvalidRequest,
			message: "GET needs the Mcp-Session-Id header of a session; POST initialize first"})
		return
	}
	sess := s.findSession(w, r, nil)
	if sess == nil {
		return
	}
	if last, ok := r.Header[headerLastEvent]; ok && last[0] != "" {
		s.serveReplay(w, r, sess, last[0])
		return
	}
	s.serveListener(w, r, sess)
}

// serveReplay continues a stream for a client that comes back.
func (s *Server) serveReplay(w http.ResponseWriter, r *http.Request, sess *session, last string) {
	name, n, ok := parseEventID(last)
	st := sess.stream(name)
	if !ok || st == nil || !st.keeps(n) {
		refuse(w, http.StatusBadRequest, nil, &rpcError{code: codeInvalidRequest,
			message: "the events after this Last-Event-ID are not kept any more; send the request again"})
		return
	}
	s.serveStream(w, r, st, n, sess.callOf(st), true)
}

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request) {
	if fault := checkVersion(r.Header.Get(headerVersion), &message{}); fault != nil {
		refuse(w, http.StatusBadRequest, nil, fault)
		return
	}
	sess := s.findSession(w, r, nil)
	if sess == nil {
		return
	}
	ended := s.table.removeOne(sess)
	s.endSessions(ended, ErrCancelled)
	s.forget(ended)
	w.WriteHeader(http.StatusNoContent)
}

// readBody reads the whole body. Memory grows with what arrives, not with what Content-Length promises.
func readBody(r *http.Request) ([]byte, error) {
	if n := r.ContentLength; n >= 0 && n <= firstRead {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(r.Body)
}

func refuseBody(w http.ResponseWriter, err error) {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		refuse(w, http.StatusRequestEntityTooLarge, nil, &rpcError{code: codeInvalidRequest,
			message: "the body is larger than " + strconv.FormatInt(tooBig.Limit, 10) + " bytes"})
		return
	}
	refuse(w, http.StatusBadRequest, nil, &rpcError{code: codeParse, message: "the body could not be read to its end"})
}

// refuse answers with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id []byte, fault *rpcError) {
	buf := appendError(takeBuffer(), id, fault)
	reply(w, status, buf)
	giveBuffer(buf)
}

func reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
