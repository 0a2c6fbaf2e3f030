package secret

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of errors of this package. Test with errors.Is; errors.As with *Error gives the sentences for people.
var (
	ErrUnavailable = errors.New("no place to keep credentials is available")
	ErrLocked      = errors.New("the place where credentials are kept is locked")
	ErrNotFound    = errors.New("credential not found")
	ErrTimeout     = errors.New("the keyring did not answer in time")
	ErrTooBig      = errors.New("key too big")
	ErrReadOnly    = errors.New("credential is read-only")
	ErrMismatch    = errors.New("the keyring did not keep the key")
	ErrInvalid     = errors.New("invalid credential name or key")
)

// Error is what every method of Vault returns, unless the caller's context ended. It never contains a key.
type Error struct {
	Kind   error  // one of the errors above
	What   string // what happened, lower case, no full stop
	Remedy string // what to do about it; "" if there is nothing to say
	Cause  error  // nil if the sentence says it all
}

// Error joins what happened, the cause and the remedy in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return b.String()
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// elsewhere is the remedy wherever there is no keyring to repair.
const elsewhere = "without a keyring, set the variable " + envPrefix + "<NAME>, put the key in a file <NAME> in $" + envDirectory +
	", or name an age identity file in " + envIdentity + " (make one with: age-keygen -o FILE)"

func noBus() *Error {
	return &Error{Kind: ErrUnavailable, What: "there is no session bus, so there is no keyring", Remedy: elsewhere}
}

func deadBus(address string, cause error) *Error {
	return &Error{Kind: ErrUnavailable, What: fmt.Sprintf("the session bus at %q cannot be reached, so there is no keyring", address),
		Remedy: "log in again or correct DBUS_SESSION_BUS_ADDRESS; " + elsewhere, Cause: cause}
}

func noService() *Error {
	return &Error{Kind: ErrUnavailable, What: "no keyring service runs on the session bus",
		Remedy: "install and start one (GNOME Keyring, KWallet, KeePassXC); " + elsewhere}
}

func noCollection() *Error {
	return &Error{Kind: ErrUnavailable, What: "the keyring service has no default keyring yet",
		Remedy: `make one, for example with "Passwords and Keys" (seahorse), and set it as default; ` + elsewhere}
}

func unusable(cause error) *Error {
	return &Error{Kind: ErrUnavailable, What: "the keyring cannot be used", Remedy: elsewhere, Cause: cause}
}

func locked(cause error) *Error {
	return &Error{Kind: ErrLocked, What: "the keyring is locked and was not unlocked", Remedy: "unlock it and try again", Cause: cause}
}

func promptTimeout(after time.Duration) *Error {
	return &Error{Kind: ErrTimeout, What: fmt.Sprintf("nobody unlocked the keyring within %v", after), Remedy: "answer its prompt, which is still open, and try again"}
}

func callTimeout(after time.Duration) *Error {
	return &Error{Kind: ErrTimeout, What: fmt.Sprintf("the keyring did not answer within %v", after),
		Remedy: "look for an open prompt, restart the keyring service, or try again"}
}

func busy(after time.Duration) *Error {
	return &Error{Kind: ErrTimeout, What: fmt.Sprintf("the keyring still owes the answer to an earlier request; waited %v for it", after),
		Remedy: "look for an open prompt, restart the keyring service, or try again"}
}

func notFound(name, where string) *Error {
	return &Error{Kind: ErrNotFound, What: fmt.Sprintf("credential %q is not in %s", name, where),
		Remedy: fmt.Sprintf("store it with: ionclaw credential set %s", name)}
}

func tooBig(name string, size int) *Error {
	return &Error{Kind: ErrTooBig, What: fmt.Sprintf("the key of credential %q has %d bytes, the limit is %d", name, size, MaxKey),
		Remedy: "keyrings of some systems lose bigger ones; use a shorter key"}
}

func mismatch(name string) *Error {
	return &Error{Kind: ErrMismatch, What: fmt.Sprintf("the keyring gave back something else than was stored for credential %q", name),
		Remedy: "store it again; if that fails too, check the keyring with its own program"}
}
