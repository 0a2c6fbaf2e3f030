package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// Info says what the server is (MCP Implementation).
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Defaults of [Options].
const (
	DefaultSessionTTL    = 24 * time.Hour
	DefaultMaxSessions   = 1000
	DefaultIdleLimit     = 300 * time.Second
	DefaultHeartbeat     = 15 * time.Second
	DefaultCoalesceDelay = 50 * time.Millisecond
	DefaultMaxBatch      = 50
)

// Options configure a server. Zero values mean the defaults.
type Options struct {
	Info         Info
	Instructions string
	Tools        Tools        // nil: no tools
	Resources    Resources    // nil: no resources
	Completer    Completer    // nil: no completion
	Sessions     SessionStore // nil: sessions end with the process
	Log          *slog.Logger // nil: none

	SessionTTL    time.Duration // a session idle for longer is removed
	MaxSessions   int           // one more, and the session idle for longest goes
	IdleLimit     time.Duration // a call without activity for longer is ended
	Heartbeat     time.Duration // between signs of life on a silent stream
	CoalesceDelay time.Duration // text chunks within it are joined
	MaxBatch      int           // messages in one batch
	// ProgressWithoutToken tells whether Call.DefaultToken has an effect; asked for each call. nil: it has.
	ProgressWithoutToken func() bool
	// OnChange is called after the list of clients changed. It must return quickly and may be called concurrently.
	OnChange func()
}

func (o *Options) fill() {
	o.SessionTTL = cmp.Or(o.SessionTTL, DefaultSessionTTL)
	o.MaxSessions = cmp.Or(o.MaxSessions, DefaultMaxSessions)
	o.IdleLimit = cmp.Or(o.IdleLimit, DefaultIdleLimit)
	o.Heartbeat = cmp.Or(o.Heartbeat, DefaultHeartbeat)
	o.CoalesceDelay = cmp.Or(o.CoalesceDelay, DefaultCoalesceDelay)
	o.MaxBatch = cmp.Or(o.MaxBatch, DefaultMaxBatch)
	if o.Tools == nil {
		o.Tools = NewToolSet()
	}
	if o.Sessions == nil {
		o.Sessions = noStore{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ProgressWithoutToken == nil {
		o.ProgressWithoutToken = func() bool { return true }
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
}

// Server is the handler of one MCP endpoint. All methods are safe for concurrent use.
type Server struct {
	opt   Options // SessionTTL and MaxSessions are in limits
	log   *slog.Logger
	nonce string // tells stream ids of this process from those of an earlier one
	epoch time.Time

	catalog   atomic.Pointer[catalog]
	limits    atomic.Pointer[limits]
	resources pages
	templates pages

	table   table
	replays replays
	closed  atomic.Bool
}

// New makes a server and takes up the stored sessions. A tool whose schema cannot be used is a programming error and
// panics. Close must be called at the end.
func New(opt Options) *Server {
	opt.fill()
	s := &Server{opt: opt, log: opt.Log, nonce: newNonce(), epoch: time.Now()}
	c, err := newCatalog(opt.Tools.List())
	if err != nil {
		panic("mcp: " + err.Error())
	}
	s.catalog.Store(c)
	if opt.Resources != nil {
		s.resources, s.templates = resourcePages(opt.Resources)
	}
	s.limits.Store(s.newLimits(opt.SessionTTL, opt.MaxSessions))
	s.loadSessions()
	return s
}

func newNonce() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// clock is monotonic time since the server was made. Unlike the wall clock it stands still while a laptop sleeps, so
// waking up does not look like five minutes of silence.
func (s *Server) clock() time.Duration { return time.Since(s.epoch) }

// catalog is the marshalled tool list with the argument rules of each tool.
type catalog struct {
	pages pages
	rules map[*Tool]*argumentRules
}

func newCatalog(tools []*Tool) (*catalog, error) {
	c := &catalog{rules: make(map[*Tool]*argumentRules, len(tools))}
	entries := make([][]byte, 0, len(tools))
	for _, t := range tools {
		raw, err := encodeTool(t)
		if err != nil {
			return nil, err
		}
		if c.rules[t], err = compileArguments(t.InputSchema); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		entries = append(entries, raw)
	}
	c.pages = newPages("tools", entries, pageSize)
	return c, nil
}

func resourcePages(r Resources) (resources, templates pages) {
	var entries [][]byte
	for _, res := range r.List() {
		entries = append(entries, append(appendResourceMembers([]byte{'{'}, &res), '}'))
	}
	resources = newPages("resources", entries, pageSize)
	entries = nil
	for _, t := range r.Templates() {
		raw := appendString([]byte(`{"uriTemplate":`), t.URITemplate)
		raw = appendString(append(raw, `,"name":`...), t.Name)
		entries = append(entries, append(appendDescription(raw, t.Title, t.Description, t.MIMEType), '}'))
	}
	return resources, newPages("resourceTemplates", entries, pageSize)
}

// encodeGreeting marshals what follows protocolVersion in the initialize result. Capabilities name only what works:
// logging/setLevel is accepted, but no log message is ever sent, so logging is not among them.
func (s *Server) encodeGreeting(ttl time.Duration) []byte {
	info, err := json.Marshal(s.opt.Info)
	if err != nil {
		panic("mcp: " + err.Error()) // three strings always marshal
	}
	buf := append([]byte(`,"capabilities":{"tools":{"listChanged":true}`), ""...)
	if s.opt.Resources != nil {
		buf = append(buf, `,"resources":{"subscribe":true}`...)
	}
	if s.opt.Completer != nil {
		buf = append(buf, `,"completions":{}`...)
	}
	buf = append(append(buf, `},"serverInfo":`...), info...)
	if s.opt.Instructions != "" {
		buf = appendString(append(buf, `,"instructions":`...), s.opt.Instructions)
	}
	// A client cannot know otherwise for how long it may stay silent.
	return fmt.Appendf(buf, `,"_meta":{"%s/session_ttl_seconds":%d}}`, s.opt.Info.Name, int64(ttl.Seconds()))
}

// ToolsChanged reads the tool list again and tells the clients.
func (s *Server) ToolsChanged() {
	c, err := newCatalog(s.opt.Tools.List())
	if err != nil {
		s.log.Error("keeping the old tool list", slog.Any("error", err))
		return
	}
	s.catalog.Store(c)
	for _, sess := range s.table.all() {
		sess.markListChanged()
	}
}

// ResourceChanged announces a change to the sessions that subscribed to the resource of this canonical name, at most
// once a second each.
func (s *Server) ResourceChanged(name string) {
	for _, sess := range s.table.all() {
		sess.markChanged(name)
	}
}

func (s *Server) canonical(uri string) (string, bool) {
	if s.opt.Resources == nil {
		return "", false
	}
	return s.opt.Resources.Canonical(uri)
}

// ClientInfo describes a session to people.
type ClientInfo struct {
	SessionID string
	Name      string // of the client program, as it says
	Version   string // of the client program
	Revision  string // of the protocol
	Created   time.Time
	LastUsed  time.Time
	Calls     uint64 // tool calls so far, in this process
	Running   int    // tool calls at this moment
	Streaming bool   // the client has its GET stream open
}

// Clients lists the sessions, oldest first.
func (s *Server) Clients() []ClientInfo {
	list := []ClientInfo{}
	for _, sess := range s.table.all() {
		list = append(list, sess.info())
	}
	slices.SortFunc(list, func(a, b ClientInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.SessionID, b.SessionID))
	})
	return list
}

// EndAll ends every session, in the store too, when the channel stops. Waiting calls are answered within a second and
// their context gets cause, ErrStopped when it is nil.
func (s *Server) EndAll(cause error) {
	ended := s.table.removeAll()
	s.endSessions(ended, cmp.Or(cause, ErrStopped))
	s.opt.Sessions.Clear()
	s.replays.clear(false)
}

// EndCredential ends the sessions that were made with this credential.
func (s *Server) EndCredential(digest string) {
	s.endMatching(func(d string) bool { return d == digest })
}

// KeepCredentials ends the sessions that were made with any credential but these, which is what a start needs when the
// key may have changed while the process was down.
func (s *Server) KeepCredentials(digests ...string) {
	s.endMatching(func(d string) bool { return !slices.Contains(digests, d) })
}

func (s *Server) endMatching(match func(digest string) bool) {
	ended := s.table.removeIf(func(sess *session) bool { return match(sess.credential) })
	s.endSessions(ended, ErrCancelled)
	s.forget(ended)
}

func (s *Server) endSessions(ended []*session, cause error) {
	for _, sess := range ended {
		sess.end(cause)
	}
	if len(ended) > 0 {
		s.opt.OnChange()
	}
}

// Close is for the exit of the process: streams end, calls are answered with cause (ErrStopped when nil), stored
// sessions stay for the next start. The handler answers 503 from then on.
func (s *Server) Close(cause error) {
	if s.closed.Swap(true) {
		return
	}
	ended := s.table.removeAll()
	for _, sess := range ended {
		if sess.stored.Load() != sess.lastUsed.Load() || sess.inUse.Load() > 0 {
			s.opt.Sessions.Put(sess.record())
		}
		sess.end(cmp.Or(cause, ErrStopped))
	}
	s.replays.clear(true)
}

// internal logs a bug and words the answer, which says no more than where to find it.
func (s *Server) internal(ctx context.Context, what string, err error) *rpcError {
	id := newNonce() + newNonce()
	s.log.LogAttrs(ctx, slog.LevelError, "internal error",
		slog.String("id", id), slog.String("in", what), slog.Any("error", err))
	return &rpcError{code: codeInternal, message: "internal error; the log has the details under " + id}
}

// noStore is the store of a server whose sessions end with the process.
type noStore struct{}

func (noStore) Load() ([]SessionRecord, error) { return nil, nil }
func (noStore) Put(SessionRecord)              {}
func (noStore) Delete(...string)               {}
func (noStore) Clear()                         {}
