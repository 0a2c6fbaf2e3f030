package mcp

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// prepare checks a tools/call up to the point where the tool could run. Exactly one of its results is set: a call, a
// result that the model should read, or an error.
func (s *Server) prepare(ctx context.Context, sess *session, m *message) (*Call, *Tool, *Result, *rpcError) {
	if fault := checkParams(m.params); fault != nil {
		return nil, nil, nil, fault
	}
	name, fault := stringParam(m.params, "name")
	if fault != nil {
		return nil, nil, nil, fault
	}
	tool, ok := s.opt.Tools.Lookup(name)
	var rules *argumentRules
	if ok {
		rules = s.catalog.Load().rules[tool]
	}
	if rules == nil {
		return nil, nil, nil, &rpcError{code: codeMethodNotFound, message: "unknown tool " + strconv.Quote(clip(name, 100))}
	}
	arguments := member(m.params, "arguments")
	switch k := kindOf(arguments); k {
	case kindNone, kindNull:
		arguments = []byte("{}")
	case kindObject:
	default:
		return nil, nil, nil, invalidParam("arguments", "must be an object, not "+k.String())
	}
	token, fault := progressToken(m.params)
	if fault != nil {
		return nil, nil, nil, fault
	}
	missing, problem := rules.check(arguments)
	if missing != "" {
		return nil, nil, nil, invalidParam(missing, "is required by tool "+name)
	}
	if problem != "" {
		return nil, nil, ErrorResult("Invalid arguments for " + name + ": " + problem + "."), nil
	}
	return s.newCall(ctx, sess, m.id, name, rules.plain(arguments), token), tool, nil, nil
}

// progressToken returns the token as written; nil for none, of which null is a spelling.
func progressToken(params []byte) ([]byte, *rpcError) {
	meta := member(params, "_meta")
	switch k := kindOf(meta); k {
	case kindNone, kindNull:
		return nil, nil
	case kindObject:
	default:
		return nil, invalidParam("_meta", "must be an object, not "+k.String())
	}
	token := member(meta, "progressToken")
	if kindOf(token) == kindNull || token == nil {
		return nil, nil
	}
	if len(token) > maxTokenBytes {
		return nil, invalidParam("_meta.progressToken", "is longer than "+strconv.Itoa(maxTokenBytes)+" bytes")
	}
	return token, nil
}

// serveCall answers a tools/call. What is wrong before the tool runs is always one JSON body.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, sess *session, m *message) {
	call, tool, early, fault := s.prepare(r.Context(), sess, m)
	if call == nil {
		buf := s.appendEarly(r.Context(), takeBuffer(), m.id, early, fault)
		reply(w, http.StatusOK, buf)
		giveBuffer(buf)
		return
	}
	streamed := wantsStream(r.Header["Accept"], call.ProgressToken != nil)
	if err := sess.add(call, s.nonce, streamed); err != nil {
		call.cancel(nil)
		refuse(w, http.StatusNotFound, m.id, noSession())
		return
	}
	call.start(tool)
	if streamed {
		s.serveStream(w, r, call.stream, 0, call, false)
		return
	}
	// A call may outlast what a server grants to ordinary requests; a read deadline would look like a client that left.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	select {
	case <-call.done:
	case <-r.Context().Done():
		return // the client went away; the tool goes on
	}
	_ = rc.SetWriteDeadline(time.Time{})
	reply(w, http.StatusOK, call.response)
	giveBuffer(call.response)
}

func (s *Server) appendEarly(ctx context.Context, buf, id []byte, res *Result, fault *rpcError) []byte {
	if fault == nil {
		out, err := appendResult(appendResponseHead(buf, id), res)
		if err == nil {
			return append(out, '}')
		}
		fault = s.internal(ctx, "tools/call", err)
	}
	return appendError(buf[:0], id, fault)
}

// callOf finds the running call of a stream; nil when it is over.
func (s *session) callOf(st *stream) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.running {
		if c.stream == st {
			return c
		}
	}
	return nil
}
