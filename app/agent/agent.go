// Package agent runs turns: a person's message goes in, an agent's answer comes out.
//
// Runtime.Start accepts a message and returns a *Turn at once. Each chat is a queue: its turns run one at a time and
// in order, turns of different chats run in parallel up to a limit. A turn streams the model, runs the tools that it
// asks for, and repeats until there is no tool call. What happens is stored as it happens, and the final state is on
// disk before the answer is handed out.
//
// A turn does not belong to the request that started it: the caller may go away, the turn goes on. It ends early only
// through its own context, whose cause says why: aborted, silent for too long, or the program stops.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
	"ionclaw-tray/app/tool"
)

const (
	// MaxWaiting is how many messages may wait in one chat behind the one that is being answered.
	MaxWaiting = 20
	// IdleLimit ends a turn in which nothing has happened for that long: no text, no tool use, no byte of the model.
	IdleLimit = 300 * time.Second
	// finalWait bounds how long the end of a turn waits for its final state to reach the disk.
	finalWait = 30 * time.Second
)

// Errors of Start.
var (
	ErrBusy         = fmt.Errorf("this chat is busy: %d messages are waiting already; wait for an answer or abort the chat", MaxWaiting)
	ErrUnknownAgent = errors.New("unknown agent")
	ErrClosing      = errors.New("the program is stopping; send the message again after it has started")
	ErrEmptyMessage = errors.New("the message is empty; say what the agent should do")
)

// Causes with which a turn's context ends.
var (
	errAborted  = errors.New("aborted")
	errShutdown = errors.New("the program was stopped before the answer was complete")
	errIdle     = errors.New("no agent activity")
)

// Models answers requests; *model.Router is the one in use.
type Models interface {
	Stream(ctx context.Context, models []string, req model.Request, emit func(model.Chunk), note func(string)) (model.Response, error)
}

// Options are the parts a Runtime works with. All are required, unless a default is named.
type Options struct {
	Store  *store.Store
	Events *event.Bus
	Config func() *config.Config // the configuration in force now
	Models func() Models         // for that configuration
	Tools  *tool.Set
	Log    *slog.Logger
	Idle   time.Duration // default IdleLimit
}

// Runtime runs the turns of all chats. Safe for concurrent use.
type Runtime struct {
	Options
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	slots  limiter

	mu     sync.Mutex // guards what follows; never held while storing or waiting
	closed bool
	chats  map[session.Key][]*Turn // the first one runs, the others wait
	tasks  map[string]*Turn
	wg     sync.WaitGroup
}

// New makes a runtime. Close ends it.
func New(o Options) *Runtime {
	if o.Idle == 0 {
		o.Idle = IdleLimit
	}
	r := &Runtime{Options: o, now: time.Now, chats: make(map[session.Key][]*Turn), tasks: make(map[string]*Turn)}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.slots.size = func() int { return r.Config().AgentsRuntime.MaxParallel }
	return r
}

// Request is a message for an agent.
type Request struct {
	Key     session.Key
	Channel string // where the message came from; may differ from the chat's own channel
	Agent   string // "": the classifier chooses
	Message string
}

// Start accepts a message. The turn runs on its own; use its methods to follow it.
func (r *Runtime) Start(req Request) (*Turn, error) {
	if strings.TrimSpace(req.Message) == "" {
		return nil, ErrEmptyMessage
	}
	if req.Agent != "" {
		if err := r.checkAgent(req.Agent); err != nil {
			return nil, err
		}
	}
	now := session.At(r.now())
	t := &Turn{
		req:   req,
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
		ready: make(chan struct{}),
		task: task.Task{
			ID:          uuid.NewString(),
			Title:       session.DisplayName(req.Message),
			Description: clip(req.Message, task.MaxDescription),
			State:       task.Queued,
			Channel:     req.Channel,
			SessionID:   req.Key,
			Agent:       req.Agent,
			CreatedAt:   now,
			UpdatedAt:   now,
		},
	}
	t.ctx, t.cancel = context.WithCancelCause(r.ctx)

	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosing
	}
	queue := r.chats[req.Key]
	if len(queue) > MaxWaiting {
		r.mu.Unlock()
		return nil, ErrBusy
	}
	r.chats[req.Key] = append(queue, t)
	r.tasks[t.task.ID] = t
	r.wg.Add(1)
	if len(queue) == 0 {
		close(t.ready)
	} else {
		t.setPosition(len(queue))
	}
	r.mu.Unlock()
	go r.serve(t)
	return t, nil
}

func (r *Runtime) checkAgent(name string) error {
	agents := r.Config().Agents
	if _, ok := agents[name]; ok {
		return nil
	}
	return fmt.Errorf("%w %q; the agents are: %s", ErrUnknownAgent, name, strings.Join(agentNames(agents), ", "))
}

func agentNames(agents map[string]config.Agent) []string {
	names := make([]string, 0, len(agents))
	for name := range agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Abort ends the running turn of a chat and drops what waits behind it. It returns when all of them have reached
// their final state, or with ctx. It reports whether there was anything to end.
func (r *Runtime) Abort(ctx context.Context, key session.Key) (bool, error) {
	r.mu.Lock()
	turns := slices.Clone(r.chats[key])
	r.mu.Unlock()
	for _, t := range slices.Backward(turns) { // the waiting ones first, so that none of them starts
		t.Abort()
	}
	for _, t := range turns {
		select {
		case <-t.done:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
	return len(turns) > 0, nil
}

// AbortTask ends one turn, running or waiting. It reports whether it was still alive.
func (r *Runtime) AbortTask(ctx context.Context, id string) (bool, error) {
	r.mu.Lock()
	t := r.tasks[id]
	r.mu.Unlock()
	if t == nil {
		return false, nil
	}
	t.Abort()
	select {
	case <-t.done:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// Live returns the task of a turn that has not ended, with its present queue position.
func (r *Runtime) Live(id string) (task.Task, bool) {
	r.mu.Lock()
	t := r.tasks[id]
	r.mu.Unlock()
	if t == nil {
		return task.Task{}, false
	}
	return t.snapshot(), true
}

// Counts returns how many turns run and how many wait.
func (r *Runtime) Counts() (running, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, queue := range r.chats {
		running++
		waiting += len(queue) - 1
	}
	return running, waiting
}

// Close refuses new messages, interrupts all turns and waits until their final states are stored, or for ctx.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel(errShutdown)
	ended := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping agents: %w", context.Cause(ctx))
	}
}

// clip cuts s to at most n bytes without breaking a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}
