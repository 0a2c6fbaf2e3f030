package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ionclaw-tray/app/secret"
)

// retryBearer is how long a failed reading of the token is remembered: requests must not knock at a locked keyring
// one by one.
const retryBearer = 5 * time.Second

// Bearer knows which tokens open the MCP endpoint. Only digests are kept. Safe for concurrent use.
type Bearer struct {
	app *App
	now func() time.Time

	mu      sync.Mutex // not held while the vault is asked
	loaded  bool
	name    string // of the credential that was read
	current [sha256.Size]byte
	old     []oldDigest
	err     error
	errAt   time.Time
	ended   func(digest [sha256.Size]byte) // told when an old token has run out
	loading chan struct{}                  // closed when the reading that runs has ended
}

type oldDigest struct {
	sum   [sha256.Size]byte
	until time.Time
}

func newBearer(a *App) *Bearer { return &Bearer{app: a, now: time.Now} }

// OnEnd sets what is called when a token that was replaced is no longer accepted.
func (b *Bearer) OnEnd(f func(digest [sha256.Size]byte)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = f
}

// Accepted returns the SHA-256 digests of the tokens that are accepted now: the present one, and replaced ones within
// their grace period. The error says why there is none; it is an *Error with CodeNoCredential. One reading of the
// vault serves all callers that come while it runs.
func (b *Bearer) Accepted(ctx context.Context) ([][sha256.Size]byte, error) {
	for {
		b.mu.Lock()
		if b.loaded {
			sums := [][sha256.Size]byte{b.current}
			for _, o := range b.old {
				if b.now().Before(o.until) {
					sums = append(sums, o.sum)
				}
			}
			b.mu.Unlock()
			return sums, nil
		}
		if b.err != nil && b.now().Sub(b.errAt) < retryBearer {
			defer b.mu.Unlock()
			return nil, b.err
		}
		wait := b.loading
		if wait == nil {
			wait = make(chan struct{})
			b.loading = wait
			go b.load(context.WithoutCancel(ctx), wait) // a locked keyring may keep it longer than one request waits
		}
		b.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b *Bearer) load(ctx context.Context, done chan struct{}) {
	sum, err := b.read(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loading == done {
		b.loaded, b.current, b.err, b.errAt = err == nil, sum, err, b.now()
		b.loading = nil
	}
	close(done)
}

func (b *Bearer) read(ctx context.Context) ([sha256.Size]byte, error) {
	name := b.app.Config().Channels.MCP.Credential
	b.mu.Lock()
	b.name = name
	b.mu.Unlock()
	if name == "" {
		return [sha256.Size]byte{}, fail(CodeNoCredential, `make one with "ionclaw credential generate mcp_token" and set channels.mcp.credential: mcp_token`,
			"channels.mcp.require_auth is on, but channels.mcp.credential names no credential")
	}
	s, err := b.app.vault.Get(ctx, name)
	if err != nil {
		hint := ""
		if errors.Is(err, secret.ErrNotFound) {
			hint = fmt.Sprintf("make one with %q", "ionclaw credential generate "+name)
		}
		return [sha256.Size]byte{}, &Error{Code: CodeNoCredential, Message: fmt.Sprintf("the token of the MCP endpoint (credential %q) cannot be read: %v", name, err), Hint: hint, Err: err}
	}
	return sha256.Sum256([]byte(strings.TrimSpace(s.Key))), nil
}

// failed is why the last reading of the token gave none; nil if it did, or if nobody has asked yet.
func (b *Bearer) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// configured is told that another configuration is in force.
func (b *Bearer) configured() {
	b.mu.Lock()
	same := b.loaded && b.name == b.app.Config().Channels.MCP.Credential
	b.mu.Unlock()
	if !same {
		b.forget()
	}
}

// forget makes the next request read the token again. The replaced one keeps its grace period.
func (b *Bearer) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded {
		b.retire(b.current)
	}
	b.loaded, b.err, b.loading = false, nil, nil
}

// rotate takes the present token out of use after the grace period and reads the new one.
func (b *Bearer) rotate(ctx context.Context) {
	b.forget()
	if _, err := b.Accepted(ctx); err != nil {
		b.app.log.Error("reading the new token failed", "err", err)
	}
}

// retire is called with the lock held.
func (b *Bearer) retire(sum [sha256.Size]byte) {
	grace := b.app.Config().Channels.MCP.RotationGrace
	b.old = append(b.old, oldDigest{sum, b.now().Add(grace)})
	time.AfterFunc(grace, func() { b.expire(sum) })
}

func (b *Bearer) expire(sum [sha256.Size]byte) {
	b.mu.Lock()
	kept, still := b.old[:0], b.loaded && b.current == sum
	for _, o := range b.old {
		if b.now().Before(o.until) {
			kept = append(kept, o)
			still = still || o.sum == sum
		}
	}
	b.old = kept
	ended := b.ended
	b.mu.Unlock()
	if !still && ended != nil {
		ended(sum)
	}
}
