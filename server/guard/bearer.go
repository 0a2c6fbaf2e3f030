package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Digest is the SHA-256 of a token: what a [Policy] holds in its place.
type Digest struct {
	sum [sha256.Size]byte
	hex string
}

// DigestOf computes the digest of a token. White space round it does not
// count: no header can carry it, and a key file often ends with a newline.
func DigestOf(token string) Digest {
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return Digest{sum, hex.EncodeToString(sum[:])}
}

// DigestSum is the digest of a token whose SHA-256 is known.
func DigestSum(sum [sha256.Size]byte) Digest { return Digest{sum, hex.EncodeToString(sum[:])} }

// String gives the digest in lower-case hexadecimal. Tokens have 256 random
// bits, so it does not give them away; it may be stored, not logged.
func (d Digest) String() string { return d.hex }

type credentialKey struct{}

// Credential returns the hexadecimal digest of the token that opened the door
// to the request of ctx, "" if none was asked for.
func Credential(ctx context.Context) string {
	s, _ := ctx.Value(credentialKey{}).(string)
	return s
}

const (
	// challenge has no resource_metadata: with it, and only with it, a client
	// following RFC 9728 would open a browser for OAuth.
	challenge = `Bearer realm="ionclaw"`
	// maxToken bounds what is hashed, in bytes. Keys are at most 2048.
	maxToken = 4096
	// credentialRetry is how long a client is told to wait when the token
	// cannot be read; an unlocked keyring helps at once.
	credentialRetry = 10 * time.Second

	tokenHint = "Open IonClaw → Connect and write this client's entry again, " +
		"or copy the token with \"ionclaw credential show\"."
)

// Bearer asks for the token, unless the policy is Anonymous. It runs before
// the body is read and puts the digest of the token in the context, see
// [Credential].
//
// The token's SHA-256 is compared with every accepted digest in constant
// time: how long a refusal takes tells neither how much of a token was right
// nor how many tokens there are to guess.
func Bearer() Check {
	return func(x *Exchange) *Denial {
		p := x.Policy
		if p.Anonymous {
			return nil
		}
		accept, err := p.Accept, p.CredentialErr
		if p.Tokens != nil {
			accept, err = p.Tokens(x.R.Context())
		}
		if err != nil {
			return credentialDenial("The token of this server could not be read: " + err.Error() + ".")
		}
		if len(accept) == 0 {
			return credentialDenial("This server asks for a token but has none to compare with.")
		}
		token, d := bearerToken(x.R.Header["Authorization"])
		if d != nil {
			return d
		}
		got := sha256.Sum256([]byte(token))
		match := -1
		for i := range accept {
			equal := subtle.ConstantTimeCompare(got[:], accept[i].sum[:])
			match = subtle.ConstantTimeSelect(equal, i, match)
		}
		if match < 0 {
			if unexpanded.MatchString(token) {
				return unexpandedDenial()
			}
			return unauthorized("The bearer token of this request is not the one this server expects.", tokenHint)
		}
		x.R = x.R.WithContext(context.WithValue(x.R.Context(), credentialKey{}, accept[match].hex))
		return nil
	}
}

// unexpanded recognises a variable reference that a client should have
// replaced: ${VAR}, ${VAR:-}, ${env:VAR}, ${input:id}, $VAR, $env:VAR,
// {env:VAR}, {{VAR}}, %VAR%.
var unexpanded = regexp.MustCompile(
	`^(\$\{[^{}]*\}|\$(env:)?[A-Za-z_][A-Za-z0-9_]*|\{env:[^{}]*\}|\{\{[^{}]*\}\}|%[A-Za-z_][A-Za-z0-9_]*%)$`)

// bearerToken takes the token from the values of the Authorization header.
// RFC 6750 section 2.1, the scheme's case ignored as RFC 9110 section 11.1 asks.
func bearerToken(values []string) (string, *Denial) {
	if len(values) == 0 {
		return "", unauthorized("This server asks for a token and the request has no Authorization header.", tokenHint)
	}
	if len(values) > 1 {
		return "", unauthorized("The request has more than one Authorization header.", tokenHint)
	}
	value := strings.TrimSpace(values[0])
	scheme, token, _ := strings.Cut(value, " ")
	token = strings.TrimSpace(token)
	switch {
	case len(value) > maxToken:
		return "", unauthorized("The Authorization header is far longer than any token of this server.", tokenHint)
	case unexpanded.MatchString(value):
		return "", unexpandedDenial()
	case !strings.EqualFold(scheme, "Bearer"):
		return "", unauthorized(`The Authorization header does not have the form "Bearer TOKEN".`, tokenHint)
	case token == "":
		return "", unauthorized("The Authorization header has no token after \"Bearer\"; "+
			"perhaps the client took it from an environment variable that is not set.", tokenHint)
	}
	return token, nil
}

func unauthorized(message, hint string) *Denial {
	return &Denial{Status: http.StatusUnauthorized, Code: "unauthorized",
		Message: message, Hint: hint, Challenge: challenge}
}

// unexpandedDenial does not repeat the reference: something that only looks
// like one could be a key.
func unexpandedDenial() *Denial {
	d := unauthorized("The Authorization header holds a variable reference such as ${IONCLAW_TOKEN} as plain text: "+
		"the client did not expand the variable.",
		"Set the variable where the client is started from and restart the client, "+
			"or open IonClaw → Connect and write this client's entry again.")
	d.Code = "unexpanded_variable"
	return d
}

func credentialDenial(message string) *Denial {
	return &Denial{Status: http.StatusServiceUnavailable, Code: "credential_unavailable", Message: message,
		Hint:       "Unlock the keyring, or see \"ionclaw status\" for where the token is looked for.",
		RetryAfter: credentialRetry}
}
