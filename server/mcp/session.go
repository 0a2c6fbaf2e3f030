package mcp

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// SessionRecord is what outlives the process.
type SessionRecord struct {
	ID            string    `json:"id"` // UUID version 4
	Version       string    `json:"version"`
	ClientName    string    `json:"client_name,omitempty"`
	ClientVersion string    `json:"client_version,omitempty"`
	Created       time.Time `json:"created"`
	LastUsed      time.Time `json:"last_used"`
	Credential    string    `json:"credential,omitempty"` // digest at creation; "" when no credential was needed
	Subscriptions []string  `json:"subscriptions,omitempty"`
}

// SessionStore keeps session records. Put, Delete and Clear must return quickly: they queue, and whoever implements them
// reports failures in its own way. Calls that concern one session come in order. Safe for concurrent use.
type SessionStore interface {
	Load() ([]SessionRecord, error)
	Put(SessionRecord)
	Delete(ids ...string)
	Clear()
}

// Limits of one session.
const (
	maxClientName    = 200 // bytes
	maxSubscriptions = 1000
	maxURI           = 4096 // bytes, of a subscribed URI
	updateInterval   = time.Second
)

// session is one client. An idle one is this struct and nothing else: no goroutine, no timer.
type session struct {
	id         string
	created    time.Time
	credential string
	lastUsed   atomic.Int64 // Unix nanoseconds, for people and for the store
	seen       atomic.Int64 // the same on the server's monotonic clock, by which it expires
	stored     atomic.Int64 // lastUsed as the store knows it
	inUse      atomic.Int32 // running calls and open GET streams
	calls      atomic.Uint64

	mu            sync.Mutex
	version       string
	clientName    string
	clientVersion string
	over          error // why the session ended; nil while it lives
	running       map[*Call]struct{}
	streams       map[string]*stream
	streamCount   uint64
	listener      *listener
	updates       map[string]*update // by the canonical form of the subscribed URI
	subscriptions int                // URIs in updates
	listChanged   bool               // a tools/list_changed that no GET stream has carried yet
}

// update is the subscription to one resource and the state of its notifications.
type update struct {
	uris  []string // as the client wrote them, which is how it is told
	dirty bool
	sent  time.Time
}

// newSession makes a session of a record; canonical reads its subscriptions.
func newSession(r SessionRecord, canonical func(uri string) (string, bool)) *session {
	s := &session{id: r.ID, created: r.Created, credential: r.Credential, version: r.Version,
		clientName: r.ClientName, clientVersion: r.ClientVersion}
	s.lastUsed.Store(r.LastUsed.UnixNano())
	s.stored.Store(r.LastUsed.UnixNano())
	for _, uri := range r.Subscriptions {
		if name, ok := canonical(uri); ok {
			s.subscribe(uri, name)
		}
	}
	return s
}

func (s *session) record() SessionRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := SessionRecord{ID: s.id, Version: s.version, ClientName: s.clientName, ClientVersion: s.clientVersion,
		Created: s.created, LastUsed: time.Unix(0, s.lastUsed.Load()), Credential: s.credential}
	if s.inUse.Load() > 0 {
		r.LastUsed = time.Now()
	}
	for _, u := range s.updates {
		r.Subscriptions = append(r.Subscriptions, u.uris...)
	}
	slices.Sort(r.Subscriptions)
	return r
}

func (s *session) revision() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// renew is a second initialize on a session that lives.
func (s *session) renew(version, name, clientVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.clientName, s.clientVersion = version, name, clientVersion
}

// add registers a call, with a stream of its own when it is to be streamed. It fails with the reason when the session
// has ended meanwhile.
func (s *session) add(c *Call, nonce string, streamed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	if s.running == nil {
		s.running = make(map[*Call]struct{}, 1)
	}
	s.running[c] = struct{}{}
	s.inUse.Add(1)
	s.calls.Add(1)
	c.ClientName = s.clientName
	if streamed {
		s.streamCount++
		c.stream = newStream(nonce + strconv.FormatUint(s.streamCount, 36))
		if s.streams == nil {
			s.streams = make(map[string]*stream, 1)
		}
		s.streams[c.stream.id] = c.stream
		if s.version == Revision2025_11_25 {
			c.stream.prime(0)
			c.resumable = true
		}
	}
	return nil
}

// remove forgets a finished call. Its stream stays until the replay time is over.
func (s *session) remove(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.running[c]; !ok {
		return
	}
	delete(s.running, c)
	if len(s.running) == 0 {
		s.running = nil
	}
	s.inUse.Add(-1)
}

func (s *session) stream(id string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

func (s *session) dropStream(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
	if len(s.streams) == 0 {
		s.streams = nil
	}
}

// cancel ends the calls with this request id. Unknown ids are normal: the call may just have ended.
func (s *session) cancel(id []byte) {
	s.mu.Lock()
	var hit []*Call
	for c := range s.running {
		if string(c.id) == string(id) {
			hit = append(hit, c)
		}
	}
	s.mu.Unlock()
	for _, c := range hit {
		c.withdraw()
	}
}

// end is final: calls get cause, streams end after the result of their call.
func (s *session) end(cause error) {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return
	}
	s.over = cause
	calls := make([]*Call, 0, len(s.running))
	for c := range s.running {
		calls = append(calls, c)
	}
	streams := make([]*stream, 0, len(s.streams))
	for _, st := range s.streams {
		streams = append(streams, st)
	}
	listener := s.listener
	s.listener = nil
	s.mu.Unlock()

	for _, c := range calls {
		c.stop(cause)
	}
	for _, st := range streams {
		st.hurry()
	}
	if listener != nil {
		listener.close()
	}
}

// subscribe adds a URI whose canonical form is name. It reports false when there are too many.
func (s *session) subscribe(uri, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.updates[name]
	if u != nil && slices.Contains(u.uris, uri) {
		return true
	}
	if s.subscriptions >= maxSubscriptions {
		return false
	}
	if s.updates == nil {
		s.updates = make(map[string]*update, 1)
	}
	if u == nil {
		u = &update{}
		s.updates[name] = u
	}
	u.uris = append(u.uris, uri)
	s.subscriptions++
	return true
}

func (s *session) unsubscribe(uri, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.updates[name]
	if u == nil {
		return
	}
	i := slices.Index(u.uris, uri)
	if i < 0 {
		return
	}
	u.uris = slices.Delete(u.uris, i, i+1)
	s.subscriptions--
	if len(u.uris) == 0 {
		delete(s.updates, name)
	}
	if len(s.updates) == 0 {
		s.updates = nil
	}
}

// credentialKey is the context key of [WithCredential].
type credentialKey struct{}

// WithCredential tells the handler which credential opened the request: a digest, never the key itself.
func WithCredential(ctx context.Context, digest string) context.Context {
	return context.WithValue(ctx, credentialKey{}, digest)
}

func credentialOf(ctx context.Context) string {
	digest, _ := ctx.Value(credentialKey{}).(string)
	return digest
}

func (s *session) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over == nil
}

func (s *session) isCalling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

func (s *session) info() ClientInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ClientInfo{SessionID: s.id, Name: s.clientName, Version: s.clientVersion, Revision: s.version,
		Created: s.created, LastUsed: time.Unix(0, s.lastUsed.Load()), Calls: s.calls.Load(),
		Running: len(s.running), Streaming: s.listener != nil}
}
