package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Causes with which the context of a call ends.
var (
	// ErrCancelled: the client sent notifications/cancelled or ended its session.
	ErrCancelled = errors.New("the client cancelled the request")
	// ErrIdle: the tool showed no activity for Options.IdleLimit.
	ErrIdle = errors.New("no activity")
	// ErrStopped: the channel was stopped. The tool may let its work go on.
	ErrStopped = errors.New("the MCP channel was stopped")
)

const (
	// answerGrace is how long a tool whose context ended may take to word the result itself, with what it has so far.
	answerGrace = 60 * time.Millisecond
	// maxJoined is the number of bytes of text that are joined before they are sent even within the delay.
	maxJoined = 64 << 10
)

// Call is one tools/call. Its methods are safe for concurrent use, never block, and do nothing on the zero value.
type Call struct {
	Session       string          // Mcp-Session-Id
	ClientName    string          // as the client gave it at initialize
	Tool          string          // name of the tool
	Arguments     json.RawMessage // always a JSON object
	ProgressToken json.RawMessage // as the client wrote it; nil: none

	server    *Server
	session   *session
	id        []byte  // of the request, as written
	stream    *stream // nil: answered as one JSON body
	resumable bool    // the client can come back to the stream
	ctx       context.Context
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed when response is set
	active    atomic.Int64  // last activity, on the server's monotonic clock

	mu       sync.Mutex
	response []byte // the whole JSON-RPC response
	finished bool
	token    json.RawMessage
	progress uint64
	text     []byte // joined chunks that wait
	flush    *time.Timer
	flushing bool
	idle     *time.Timer
	grace    *time.Timer
	emitted  time.Duration // when the last progress left, on the server's clock
	status   string
}

// newCall prepares a call. Values of ctx stay visible to the tool; its end does not matter.
func (s *Server) newCall(ctx context.Context, sess *session, id []byte, name string, arguments, token []byte) *Call {
	c := &Call{Session: sess.id, Tool: name, Arguments: arguments, ProgressToken: token,
		server: s, session: sess, id: id, token: token, emitted: s.clock(), done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.active.Store(int64(c.emitted))
	return c
}

// start runs the tool.
func (c *Call) start(tool *Tool) {
	c.mu.Lock()
	if !c.finished {
		c.idle = time.AfterFunc(c.server.opt.IdleLimit, c.checkIdle)
	}
	c.mu.Unlock()
	go c.run(tool)
}

func (c *Call) run(tool *Tool) {
	returned := false
	defer func() {
		// A panic and runtime.Goexit both come here; neither may take the server down or leave the client waiting.
		if fault := recover(); fault != nil || !returned {
			c.complete(nil, fmt.Errorf("tool %s panicked: %v\n%s", tool.Name, fault, debug.Stack()))
		}
	}()
	res, err := tool.Handle(c.ctx, c)
	returned = true
	c.complete(res, err)
}

// complete takes what the tool returned.
func (c *Call) complete(res *Result, err error) {
	var param *ParamError
	switch {
	case c.ctx.Err() != nil:
		cause := context.Cause(c.ctx)
		if res == nil || err != nil {
			res = c.stopped(cause)
		}
		failed := *res
		failed.IsError = true
		c.finish(&failed, nil)
	case errors.As(err, &param):
		c.finish(nil, &rpcError{code: codeInvalidParams, message: param.Error()})
	case err != nil:
		c.finish(nil, c.server.internal(c.ctx, "tool "+c.Tool, err))
	case res == nil:
		c.finish(&Result{}, nil)
	default:
		c.finish(res, nil)
	}
}

// finish sets the response. Only the first call counts.
func (c *Call) finish(res *Result, fault *rpcError) {
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return
	}
	c.sendText()
	c.finished = true
	for _, t := range []*time.Timer{c.flush, c.idle, c.grace} {
		if t != nil {
			t.Stop()
		}
	}
	buf := takeBuffer()
	if fault == nil {
		var err error
		if buf, err = appendResult(appendResponseHead(buf, c.id), res); err != nil {
			fault, buf = c.server.internal(c.ctx, "result of tool "+c.Tool, err), buf[:0]
		} else {
			buf = append(buf, '}')
		}
	}
	if fault != nil {
		buf = appendError(buf, c.id, fault)
	}
	if c.stream == nil {
		c.response = buf
	} else {
		c.stream.push(buf, false)
		c.stream.end()
		giveBuffer(buf)
		c.server.replays.retire(c.session, c.stream, time.Now())
	}
	c.mu.Unlock()
	c.session.remove(c)
	c.server.touch(c.session, time.Now())
	c.cancel(nil)
	close(c.done)
}

// stop ends the context with cause. The tool has a moment to return what it has; then the core answers for it.
func (c *Call) stop(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || c.grace != nil {
		return
	}
	c.cancel(cause)
	c.grace = time.AfterFunc(answerGrace, func() { c.finish(c.stopped(cause), nil) })
}

// withdraw is a cancellation by the client. The protocol wants no response to a cancelled request (MCP cancellation,
// behaviour requirements), so an open stream just closes; whoever comes back for it still finds the result in the ring,
// because somebody who comes back is waiting. A JSON body has to be sent all the same.
func (c *Call) withdraw() {
	if c.stream != nil {
		c.stream.kick()
	}
	c.stop(ErrCancelled)
}

// stopped words the result of a call that was ended from outside.
func (c *Call) stopped(cause error) *Result {
	switch {
	case errors.Is(cause, ErrIdle):
		return ErrorResult(fmt.Sprintf("No activity for %s, so the call was ended. Try again, or ask for a smaller step.",
			c.server.opt.IdleLimit))
	case errors.Is(cause, ErrCancelled):
		return ErrorResult("The call was cancelled.")
	case errors.Is(cause, ErrStopped):
		return ErrorResult("The MCP channel was stopped before the call was done. Start it again in IonClaw, then repeat the call.")
	}
	return ErrorResult("The call was ended: " + cause.Error() + ".")
}

// checkIdle runs when the idle limit may have passed; activity only moves a number, so most of the time it has not.
func (c *Call) checkIdle() {
	c.mu.Lock()
	if c.finished || c.idle == nil {
		c.mu.Unlock()
		return
	}
	quiet := c.server.clock() - time.Duration(c.active.Load())
	if rest := c.server.opt.IdleLimit - quiet; rest > 0 {
		c.idle.Reset(rest)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.server.log.Info("ending an idle call", slog.String("tool", c.Tool), slog.String("session", c.Session))
	c.stop(ErrIdle)
}

// Touch says that the tool is alive.
func (c *Call) Touch() {
	if c.server != nil {
		c.active.Store(int64(c.server.clock()))
	}
}

// Supervised takes the call out of the idle rule: the tool watches its own activity.
func (c *Call) Supervised() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
}

// Status sets what the next heartbeat says, and counts as activity.
func (c *Call) Status(text string) {
	c.Touch()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = text
}

// Announce is Status that also leaves at once as a progress event of its own, apart from the text chunks. It reaches
// only clients that gave a token.
func (c *Call) Announce(text string) {
	c.Status(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ProgressToken != nil {
		c.sendText()
		c.send(text)
	}
}

// Progress streams a chunk of text. Chunks that come within Options.CoalesceDelay are joined.
func (c *Call) Progress(text string) {
	if c.server == nil || text == "" {
		return
	}
	c.Touch()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || c.token == nil || c.stream == nil {
		return
	}
	c.text = append(c.text, text...)
	if c.flushing && len(c.text) < maxJoined {
		return
	}
	if !c.flushing {
		c.flushing = true
		if c.flush == nil {
			c.flush = time.AfterFunc(c.server.opt.CoalesceDelay, c.flushText)
		} else {
			c.flush.Reset(c.server.opt.CoalesceDelay)
		}
	}
	c.sendText() // the first chunk after a pause leaves at once
}

// flushText runs a delay after the last send. With nothing to send the next chunk may again leave at once.
func (c *Call) flushText() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	if len(c.text) == 0 {
		c.flushing = false
		return
	}
	c.sendText()
	c.flush.Reset(c.server.opt.CoalesceDelay)
}

// sendText sends the joined chunks. The caller holds mu.
func (c *Call) sendText() {
	if len(c.text) == 0 {
		return
	}
	c.send(string(c.text))
	if c.text = c.text[:0]; cap(c.text) > maxJoined {
		c.text = nil
	}
}

// send makes a progress event. The caller holds mu.
func (c *Call) send(text string) {
	if c.finished || c.token == nil || c.stream == nil {
		return
	}
	c.progress++
	c.emitted = c.server.clock()
	buf := append(takeBuffer(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	buf = append(append(buf, c.token...), `,"progress":`...)
	buf = strconv.AppendUint(buf, c.progress, 10)
	buf = append(appendString(append(buf, `,"message":`...), text), "}}"...)
	c.stream.push(buf, true)
	giveBuffer(buf)
}

// DefaultToken sets the token for progress of a client that gave none, where the configuration allows that.
func (c *Call) DefaultToken(token string) {
	if c.server == nil || !c.server.opt.ProgressWithoutToken() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == nil {
		c.token = appendString(nil, token)
	}
}

// CloseStream ends the HTTP response early; the client comes back after retry, a whole number of milliseconds, and
// receives the rest (MCP 2025-11-25, polling). It does nothing where the client cannot come back.
func (c *Call) CloseStream(retry time.Duration) {
	if c.stream == nil || !c.resumable {
		return
	}
	c.stream.prime(retry)
	c.stream.pause()
}

// nextBeat is beat for a stream whose call may be unknown.
func (c *Call) nextBeat() time.Duration {
	if c == nil {
		return 0
	}
	return c.beat()
}

// beat sends a heartbeat when the call was silent for long enough, and returns how long to wait for the next one; 0
// means never.
func (c *Call) beat() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ProgressToken == nil || c.finished {
		return 0
	}
	if quiet := c.server.clock() - c.emitted; quiet < c.server.opt.Heartbeat {
		return c.server.opt.Heartbeat - quiet
	}
	text := "still working"
	if c.status != "" {
		text += ": " + c.status
	}
	c.sendText()
	c.send(text)
	return c.server.opt.Heartbeat
}
