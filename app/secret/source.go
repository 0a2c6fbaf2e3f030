package secret

import (
	"fmt"
	"log/slog"
)

// Source is a place where a key is kept.
type Source string

// The sources, in the order in which they are read.
const (
	SourceEnvironment Source = "environment"           // IONCLAW_CREDENTIAL_<NAME>, read-only
	SourceDirectory   Source = "credentials-directory" // a file in $CREDENTIALS_DIRECTORY, read-only
	SourceKeyring     Source = "keyring"               // the keyring of the operating system
	SourceAge         Source = "age"                   // a file encrypted with age
)

// SourceStatus describes one source for people.
type SourceStatus struct {
	Source    Source `json:"source"`
	Available bool   `json:"available"` // it can be read now, or after unlocking
	Locked    bool   `json:"locked"`    // a person has to unlock it first
	Detail    string `json:"detail"`    // where it is, or why it is not available
}

// Secret is a key and where it came from. Printing, logging or marshalling one never shows the key.
type Secret struct {
	Key    string `json:"-"`
	Source Source `json:"source"`
}

var (
	_ fmt.Formatter  = Secret{}
	_ slog.LogValuer = Secret{}
)

// Format implements fmt.Formatter for every verb, so that no way of printing shows the key.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%s from %s", redacted, s.Source) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }
