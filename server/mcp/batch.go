package mcp

import (
	"context"
	"net/http"
	"strconv"
	"sync"
)

// serveBatch answers an array of messages, which only revision 2025-03-26 has. Responses come as one array in the
// order of the requests; tool calls of a batch run at the same time.
func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	if fault := checkVersion(r.Header.Get(headerVersion), &message{}); fault != nil {
		refuse(w, http.StatusBadRequest, nil, fault)
		return
	}
	sess := s.findSession(w, r, nil)
	if sess == nil {
		return
	}
	list := elements(body, s.opt.MaxBatch+1)
	problem := ""
	switch {
	case sess.revision() != Revision2025_03_26:
		problem = "batches exist only in protocol version " + Revision2025_03_26
	case len(list) == 0:
		problem = "the batch is empty"
	case len(list) > s.opt.MaxBatch:
		problem = "a batch has at most " + strconv.Itoa(s.opt.MaxBatch) + " messages"
	}
	if problem != "" {
		refuse(w, http.StatusBadRequest, nil, &rpcError{code: codeInvalidRequest, message: problem})
		return
	}
	answers := make([][]byte, len(list))
	var wg sync.WaitGroup
	for i, raw := range list {
		s.batched(r.Context(), sess, raw, &answers[i], &wg)
	}
	wg.Wait()
	if r.Context().Err() != nil {
		return
	}
	buf := append(takeBuffer(), '[')
	for _, answer := range answers {
		if answer == nil {
			continue
		}
		if len(buf) > 1 {
			buf = append(buf, ',')
		}
		buf = append(buf, answer...)
	}
	if len(buf) == 1 {
		w.WriteHeader(http.StatusAccepted)
	} else {
		buf = append(buf, ']')
		reply(w, http.StatusOK, buf)
	}
	giveBuffer(buf)
}

// batched sets the answer to one message of a batch; nil for a message that has none. A tool call is waited for in wg.
func (s *Server) batched(ctx context.Context, sess *session, raw []byte, answer *[]byte, wg *sync.WaitGroup) {
	m, fault := parseMessage(raw)
	if fault == nil {
		fault = checkVersion("", &m)
	}
	switch {
	case fault != nil:
		*answer = appendError(nil, m.id, fault)
	case !m.request():
		s.notified(sess, &m)
	case string(m.method) == "initialize":
		*answer = appendError(nil, m.id, &rpcError{code: codeInvalidRequest, message: "initialize must not be part of a batch"})
	case string(m.method) != "tools/call":
		*answer = s.answer(ctx, sess, &m, nil)
	default:
		call, tool, early, fault := s.prepare(ctx, sess, &m)
		if call == nil {
			*answer = s.appendEarly(ctx, nil, m.id, early, fault)
			return
		}
		if err := sess.add(call, s.nonce, false); err != nil {
			call.cancel(nil)
			*answer = appendError(nil, m.id, noSession())
			return
		}
		call.start(tool)
		wg.Go(func() {
			select {
			case <-call.done:
				*answer = call.response
			case <-ctx.Done():
			}
		})
	}
}
