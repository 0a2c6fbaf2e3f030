package channel

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
	"ionclaw-tray/server/guard"
	"ionclaw-tray/server/mcp"
)

// tokenWait is how long a request waits for the token to be read: a locked keyring may take as long as its owner.
const tokenWait = 4 * time.Second

// instructions are what an assistant learns about the server when it connects.
const instructions = "IonClaw gives you the user's own AI agents: ask them with the tool chat for a second opinion, or for work they are made for, and see list_agents for who they are. " +
	"A chat without session_id goes on where this connection left off; pass a session_id from list_sessions to continue any other chat, also one begun elsewhere."

// Channel is the MCP endpoint that can be opened and closed. It implements app.Channel and http.Handler and is safe
// for concurrent use.
type Channel struct {
	app     *app.App
	baseURL func() string
	handler http.Handler

	switching sync.Mutex // one Start or Stop at a time
	server    atomic.Pointer[mcp.Server]
	stopped   bool // in this run, so the stored sessions are no longer valid; guarded by switching
	closed    atomic.Bool
	watch     sync.WaitGroup
	stopWatch func()
}

var _ app.Channel = (*Channel)(nil)

// New makes a closed channel. baseURL tells the address of the live listener. Close has to be called at the end.
func New(a *app.App, baseURL func() string) *Channel {
	c := &Channel{app: a, baseURL: baseURL}
	c.handler = guard.MCP(c.policy)(http.HandlerFunc(c.serve))
	a.Bearer().OnEnd(func(sum [32]byte) {
		if s := c.server.Load(); s != nil {
			s.EndCredential(guard.DigestSum(sum).String())
		}
	})
	sub := a.Events().Subscribe(256)
	c.stopWatch = sub.Close
	c.watch.Go(func() { c.announce(sub) })
	return c
}

// ServeHTTP implements http.Handler.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

func (c *Channel) serve(w http.ResponseWriter, r *http.Request) {
	s := c.server.Load()
	if s == nil { // stopped since the guard looked
		guard.DenyRPC(w, r, guard.Stopped())
		return
	}
	s.ServeHTTP(w, r.WithContext(mcp.WithCredential(r.Context(), guard.Credential(r.Context()))))
}

// policy is what the next request is measured by.
func (c *Channel) policy() *guard.Policy {
	cfg := c.app.Config()
	p := &guard.Policy{
		Stopped:      c.server.Load() == nil,
		Anonymous:    !cfg.Channels.MCP.RequireAuth,
		TrustedHosts: cfg.Server.TrustedHosts,
		MaxBody:      cfg.Server.MaxBody,
	}
	if !p.Anonymous {
		p.Tokens = c.tokens
	}
	return p
}

// tokens are the accepted ones.
func (c *Channel) tokens(ctx context.Context) ([]guard.Digest, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tokenWait, errTokenWait)
	defer cancel()
	sums, err := c.app.Bearer().Accepted(ctx)
	if err != nil {
		return nil, err
	}
	digests := make([]guard.Digest, len(sums))
	for i, sum := range sums {
		digests[i] = guard.DigestSum(sum)
	}
	return digests, nil
}

var errTokenWait = errors.New("the keyring has not answered yet; unlock it and try again")

// Start implements app.Channel.
func (c *Channel) Start(ctx context.Context) error {
	c.switching.Lock()
	defer c.switching.Unlock()
	if c.closed.Load() {
		return errors.New("the program is stopping")
	}
	if c.server.Load() != nil {
		return nil
	}
	cfg := c.app.Config().Channels.MCP
	keep := []string{""} // made while no token was asked for; each request is checked anyway
	if cfg.RequireAuth {
		sums, err := c.app.Bearer().Accepted(ctx)
		if err != nil {
			return err
		}
		for _, sum := range sums {
			keep = append(keep, guard.DigestSum(sum).String())
		}
	}
	s := mcp.New(mcp.Options{
		Info:         mcp.Info{Name: "ionclaw", Title: "IonClaw", Version: c.app.Version()},
		Instructions: instructions,
		Tools:        Tools(c.app),
		Resources:    Resources{c.app},
		Completer:    Resources{c.app},
		Sessions:     records{c.app.Store(), c.app.Log(), c.stopped},
		Log:          c.app.Log(),
		SessionTTL:   cfg.SessionTTL,
		MaxSessions:  cfg.MaxSessions,
		ProgressWithoutToken: func() bool {
			return c.app.Config().Channels.MCP.ProgressWithoutToken
		},
		OnChange: func() { c.app.Events().Publish(event.ClientsChanged{}) },
	})
	if cfg.RequireAuth {
		s.KeepCredentials(keep...)
	}
	c.server.Store(s)
	c.Apply() // the configuration may have changed since it was read above
	c.app.Log().Info("MCP channel started", "url", c.URL(), "require_auth", cfg.RequireAuth)
	return nil
}

// Stop implements app.Channel. Turns that run go on: somebody may still want their answers.
func (c *Channel) Stop(context.Context) error {
	c.switching.Lock()
	defer c.switching.Unlock()
	s := c.server.Swap(nil)
	if s == nil {
		return nil
	}
	s.Close(mcp.ErrStopped)  // first, so that a request which is under way begins no session
	s.EndAll(mcp.ErrStopped) // and takes the stored ones back
	c.stopped = true
	c.app.Log().Info("MCP channel stopped")
	return nil
}

// errClosing is why calls end when the process does. Their turns end with it, too.
var errClosing = errors.New("IonClaw was closed")

// Close ends the channel with the process: sessions stay stored, so that clients do not notice a restart.
func (c *Channel) Close() {
	c.switching.Lock()
	defer c.switching.Unlock()
	c.closed.Store(true)
	if s := c.server.Swap(nil); s != nil {
		s.Close(errClosing)
	}
	c.stopWatch()
	c.watch.Wait()
}

// Running implements app.Channel.
func (c *Channel) Running() bool { return c.server.Load() != nil }

// URL implements app.Channel.
func (c *Channel) URL() string {
	base := c.baseURL()
	if base == "" {
		return ""
	}
	return base + Path
}

// Path is where the endpoint is on the server.
const Path = "/mcp"

// Clients implements app.Channel.
func (c *Channel) Clients() []app.Client {
	list := []app.Client{}
	s := c.server.Load()
	if s == nil {
		return list
	}
	for _, k := range s.Clients() {
		list = append(list, app.Client{
			Session: k.SessionID, Name: k.Name, Version: k.Version, Revision: k.Revision,
			Created: session.At(k.Created), LastUsed: session.At(k.LastUsed), Calls: int64(k.Calls), Streaming: k.Streaming,
		})
	}
	return list
}

// Apply implements app.Channel. The limits of sessions are put in force; everything else that may change is read when
// it is needed.
func (c *Channel) Apply() {
	if s := c.server.Load(); s != nil {
		mcp := c.app.Config().Channels.MCP
		s.SetLimits(mcp.SessionTTL, mcp.MaxSessions)
	}
}

// announce turns changes of the core into changes of resources until the subscription ends.
func (c *Channel) announce(sub *event.Subscription) {
	for {
		select {
		case <-sub.Done():
			return
		case env := <-sub.C():
			if s := c.server.Load(); s != nil {
				for _, uri := range changed(env.Event) {
					s.ResourceChanged(uri)
				}
			}
		}
	}
}

// changed lists the resources that an event changes, by their canonical names.
func changed(e event.Event) []string {
	switch e := e.(type) {
	case event.MessageAdded:
		return []string{uriSession(e.Session)}
	case event.SessionChanged:
		return []string{uriSessions, uriSession(e.Session.Key)}
	case event.SessionDeleted:
		return []string{uriSessions, uriSession(e.Session)}
	case event.TaskChanged:
		return []string{uriTasks, uriTasks + "/" + e.Task.ID}
	case event.ConfigChanged:
		return []string{uriAgents}
	}
	return nil
}
