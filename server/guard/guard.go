// Package guard decides whether an HTTP request may reach a handler.
//
// Data direction: a request comes in, one [Policy] snapshot is taken for it,
// a row of [Check] functions looks at the two, and either the next handler
// runs or a [Denial] goes to the injected [Deny] writer. Nothing flows back
// from the handler, and guard knows neither the configuration file nor the
// keyring: whoever wires the server turns those into a Policy.
//
// The snapshot is what makes live configuration changes safe. With auth on
// the Host header is not looked at, with auth off the token is not; a request
// that straddles the change must not profit from both.
package guard

import (
	"context"
	"net/http"
	"time"
)

// Policy is what one request is measured by. It is immutable once it has been
// handed out. The zero Policy refuses everything: it asks for a token and
// accepts none.
type Policy struct {
	// Stopped refuses every request with 503.
	Stopped bool
	// Anonymous lets requests in without a token. The Host and Origin rules
	// then always apply: they are all that keeps web pages out.
	Anonymous bool
	// LocalOnly applies the Host and Origin rules although a token is asked
	// for (the local API: no web page has business there).
	LocalOnly bool
	// TrustedHosts are further values of the Host header, "name" for any port
	// or "name:port" for one.
	TrustedHosts []string
	// Accept holds the digests of the tokens that open the door; several
	// while a token is being rotated.
	Accept []Digest
	// CredentialErr says why the token could not be read. It is shown to the
	// client, so it must not hold a secret.
	CredentialErr error
	// Tokens, when set, is asked in place of Accept and CredentialErr, and only
	// once a request has come as far as the token: reading it may take seconds,
	// which neither a preflight nor a refused request should wait for. The
	// context is that of the request.
	Tokens func(context.Context) ([]Digest, error)
	// MaxBody bounds a request body in bytes; 0 means [DefaultMaxBody].
	MaxBody int64
}

// localOnly tells whether the Host and Origin rules apply.
func (p *Policy) localOnly() bool { return p.Anonymous || p.LocalOnly }

// Denial is the answer to a request that may not pass.
type Denial struct {
	Status  int    // HTTP status
	Code    string // stable word for programs, such as "forbidden_host"
	Message string // for people: what and why
	Hint    string // for people: what to do; may be empty

	Allow      string        // value of the Allow header
	Challenge  string        // value of the WWW-Authenticate header
	RetryAfter time.Duration // rounded up to seconds; 0: no header
}

// Deny writes a denial to the client. [DenyRPC] and [DenyAPI] are the two
// formats there are.
type Deny func(w http.ResponseWriter, r *http.Request, d *Denial)

// Exchange is one request on its way through the checks.
type Exchange struct {
	W      http.ResponseWriter
	R      *http.Request // a check may replace it, to add to the context or wrap the body
	Policy *Policy

	deny  Deny
	done  bool
	after func() // runs when the next handler has returned
}

// Done marks the exchange as answered: the check has written the response
// itself and no handler runs.
func (x *Exchange) Done() { x.done = true }

// Check looks at an exchange and returns nil to let it pass. Checks are run
// concurrently for different requests and keep no state.
type Check func(x *Exchange) *Denial

// New gives a middleware that runs the checks in order before the next
// handler. policy is called once per request and must be cheap and safe for
// concurrent use; an atomic.Pointer's Load is the usual choice. A nil policy
// counts as the zero Policy.
func New(policy func() *Policy, deny Deny, checks ...Check) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := policy()
			if p == nil {
				p = &Policy{}
			}
			x := Exchange{W: w, R: r, Policy: p, deny: deny}
			for _, check := range checks {
				if d := check(&x); d != nil {
					deny(x.W, x.R, d)
					drain(w, r)
					return
				}
				if x.done {
					return
				}
			}
			next.ServeHTTP(x.W, x.R)
			if x.after != nil {
				x.after()
			}
		})
	}
}

// MCP is the guard of the MCP endpoint: the checks of the channel contract in
// their order, cheapest first, denials as JSON-RPC errors.
func MCP(policy func() *Policy) func(http.Handler) http.Handler {
	return New(policy, DenyRPC,
		Host(), Origin(), CORS("GET, POST, DELETE, OPTIONS"), Running(),
		Methods(http.MethodGet, http.MethodPost, http.MethodDelete),
		Bearer(), JSONOnly(), MaxBody())
}
