package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"
)

// initialize starts a session, or renegotiates the one that the request names if it lives. A stale id is no obstacle:
// this is how a client comes back after it lost its session.
func (s *Server) initialize(w http.ResponseWriter, r *http.Request, m *message) {
	if fault := checkParams(m.params); fault != nil {
		reply(w, http.StatusOK, appendError(nil, m.id, fault))
		return
	}
	version := negotiate(unquote(member(m.params, "protocolVersion")))
	client := member(m.params, "clientInfo")
	name := clip(unquote(member(client, "name")), maxClientName)
	clientVersion := clip(unquote(member(client, "version")), maxClientName)

	sess := s.table.get(r.Header.Get(headerSession))
	if sess != nil {
		sess.renew(version, name, clientVersion)
		sess.lastUsed.Store(time.Now().UnixNano())
		sess.seen.Store(int64(s.clock()))
		s.put(sess)
		s.opt.OnChange()
	} else if sess = s.createSession(version, name, clientVersion, credentialOf(r.Context())); sess == nil {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, m.id, &rpcError{code: codeInternal,
			message: "all sessions are busy; end one or raise channels.mcp.max_sessions"})
		return
	}
	w.Header()[headerSession] = []string{sess.id}
	buf := appendResponseHead(takeBuffer(), m.id)
	buf = appendString(append(buf, `{"protocolVersion":`...), version)
	buf = append(append(buf, s.limits.Load().greeting...), '}')
	reply(w, http.StatusOK, buf)
	giveBuffer(buf)
}

// checkParams refuses params that are not an object. Absent and null are the same as empty.
func checkParams(params []byte) *rpcError {
	switch kindOf(params) {
	case kindNone, kindNull, kindObject:
		return nil
	}
	return invalidParam("params", "must be an object, not "+kindOf(params).String())
}

// notified handles a message that wants no answer. Responses are ignored: the server sends no requests.
func (s *Server) notified(sess *session, m *message) {
	if string(m.method) == "notifications/cancelled" {
		if id := member(m.params, "requestId"); id != nil {
			sess.cancel(id)
		}
	}
}

// answer appends the whole response to any request but initialize and tools/call.
func (s *Server) answer(ctx context.Context, sess *session, m *message, buf []byte) (out []byte) {
	start := len(buf)
	defer func() {
		if fault := recover(); fault != nil {
			e := s.internal(ctx, string(m.method), fmt.Errorf("panic: %v\n%s", fault, debug.Stack()))
			out = appendError(buf[:start], m.id, e)
		}
	}()
	fault := checkParams(m.params)
	if fault == nil {
		buf = appendResponseHead(buf, m.id)
		buf, fault = s.dispatch(ctx, sess, m, buf)
	}
	if fault != nil {
		return appendError(buf[:start], m.id, fault)
	}
	return append(buf, '}')
}

// dispatch appends the result value.
func (s *Server) dispatch(ctx context.Context, sess *session, m *message, buf []byte) ([]byte, *rpcError) {
	switch string(m.method) {
	case "ping":
		return append(buf, "{}"...), nil
	case "tools/list":
		return appendPage(buf, s.catalog.Load().pages, m.params)
	case "logging/setLevel":
		return s.setLevel(m, buf)
	case "completion/complete":
		if s.opt.Completer != nil {
			return s.complete(ctx, m, buf)
		}
	}
	if s.opt.Resources != nil {
		switch string(m.method) {
		case "resources/list":
			return appendPage(buf, s.resources, m.params)
		case "resources/templates/list":
			return appendPage(buf, s.templates, m.params)
		case "resources/read":
			return s.readResource(ctx, m, buf)
		case "resources/subscribe":
			return s.subscribe(sess, m, buf)
		case "resources/unsubscribe":
			return s.unsubscribe(sess, m, buf)
		}
	}
	return buf, &rpcError{code: codeMethodNotFound, message: "unknown method " + clip(string(m.method), 100)}
}

func appendPage(buf []byte, p pages, params []byte) ([]byte, *rpcError) {
	page, fault := p.page(params)
	return append(buf, page...), fault
}

// logLevels are those of RFC 5424, which MCP uses.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel accepts a level for form's sake, since clients ask even where nothing is offered.
func (s *Server) setLevel(m *message, buf []byte) ([]byte, *rpcError) {
	if !slices.Contains(logLevels, unquote(member(m.params, "level"))) {
		return buf, invalidParam("level", "must be a log level such as \"info\"")
	}
	return append(buf, "{}"...), nil
}

// stringParam reads a string that must be there.
func stringParam(params []byte, name string) (string, *rpcError) {
	raw := member(params, name)
	switch kindOf(raw) {
	case kindString:
		return unquote(raw), nil
	case kindNone:
		return "", invalidParam(name, "is missing")
	}
	return "", invalidParam(name, "must be a string, not "+kindOf(raw).String())
}

func (s *Server) readResource(ctx context.Context, m *message, buf []byte) ([]byte, *rpcError) {
	uri, fault := stringParam(m.params, "uri")
	if fault != nil {
		return buf, fault
	}
	contents, err := s.opt.Resources.Read(ctx, uri)
	if err != nil {
		return buf, s.resourceFault(ctx, uri, err)
	}
	buf = append(buf, `{"contents":[`...)
	for i := range contents {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendResourceContents(buf, &contents[i])
	}
	return append(buf, "]}"...), nil
}

func (s *Server) resourceFault(ctx context.Context, uri string, err error) *rpcError {
	var param *ParamError
	switch {
	case errors.Is(err, ErrNotFound):
		return unknownResource(uri)
	case errors.As(err, &param):
		return &rpcError{code: codeInvalidParams, message: param.Error()}
	}
	return s.internal(ctx, "resources/read", err)
}

func unknownResource(uri string) *rpcError {
	uri = clip(uri, 500)
	return &rpcError{code: codeResourceNotFound, message: "unknown resource " + uri,
		data: append(appendString([]byte(`{"uri":`), uri), '}')}
}

func (s *Server) subscribe(sess *session, m *message, buf []byte) ([]byte, *rpcError) {
	uri, fault := stringParam(m.params, "uri")
	switch {
	case fault != nil:
		return buf, fault
	case len(uri) > maxURI:
		return buf, invalidParam("uri", fmt.Sprintf("is longer than %d bytes", maxURI))
	}
	name, ok := s.canonical(uri)
	switch {
	case !ok:
		return buf, unknownResource(uri)
	case !sess.subscribe(uri, name):
		return buf, invalidParam("uri", fmt.Sprintf("is one too many; a session has at most %d subscriptions", maxSubscriptions))
	}
	s.put(sess)
	return append(buf, "{}"...), nil
}

func (s *Server) unsubscribe(sess *session, m *message, buf []byte) ([]byte, *rpcError) {
	uri, fault := stringParam(m.params, "uri")
	if fault != nil {
		return buf, fault
	}
	if name, ok := s.canonical(uri); ok {
		sess.unsubscribe(uri, name)
		s.put(sess)
	}
	return append(buf, "{}"...), nil
}

// maxCompletions is the most values that one answer may hold (MCP completion, completion results).
const maxCompletions = 100

func (s *Server) complete(ctx context.Context, m *message, buf []byte) ([]byte, *rpcError) {
	ref, argument := member(m.params, "ref"), member(m.params, "argument")
	for name, raw := range map[string][]byte{"ref": ref, "argument": argument} {
		if kindOf(raw) != kindObject {
			return buf, invalidParam(name, "must be an object")
		}
	}
	req := CompleteRequest{RefType: unquote(member(ref, "type")), Value: unquote(member(argument, "value"))}
	var fault *rpcError
	switch req.RefType {
	case "ref/resource":
		req.Ref, fault = stringParam(ref, "uri")
	case "ref/prompt":
		req.Ref, fault = stringParam(ref, "name")
	default:
		fault = invalidParam("ref.type", "must be ref/resource or ref/prompt")
	}
	if fault == nil {
		req.Name, fault = stringParam(argument, "name")
	}
	if fault != nil {
		return buf, fault
	}
	if settled := member(member(m.params, "context"), "arguments"); settled != nil {
		if json.Unmarshal(settled, &req.Context) != nil {
			return buf, invalidParam("context.arguments", "must be an object of strings")
		}
	}
	found, err := s.opt.Completer.Complete(ctx, req)
	if err != nil {
		var param *ParamError
		if errors.As(err, &param) {
			return buf, &rpcError{code: codeInvalidParams, message: param.Error()}
		}
		return buf, s.internal(ctx, "completion/complete", err)
	}
	return appendCompletion(buf, found), nil
}

func appendCompletion(buf []byte, c Completion) []byte {
	total := max(c.Total, len(c.Values))
	more := c.HasMore || len(c.Values) > maxCompletions
	buf = append(buf, `{"completion":{"values":[`...)
	for i, value := range c.Values[:min(len(c.Values), maxCompletions)] {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendString(buf, value)
	}
	return fmt.Appendf(buf, `],"total":%d,"hasMore":%t}}`, total, more)
}
