package secret

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of what a Vault keeps.
const (
	MaxKey  = 2048 // bytes of a key; Windows ends at 2560, the command line of macOS at 4096 with everything around it
	MaxName = 64   // bytes of a credential's name
)

// generatedBytes is the strength of a generated key: 256 bits.
const generatedBytes = 32

// Generate makes a random key of 256 bits, 43 characters of the URL-safe base64 alphabet.
func Generate() string {
	b := make([]byte, generatedBytes)
	_, _ = rand.Read(b) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b)
}

// namePattern is narrower than a file name and wider than a variable's: names go into both.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func checkName(name string) error {
	if !namePattern.MatchString(name) || strings.Trim(name, ".") == "" {
		return &Error{Kind: ErrInvalid, What: fmt.Sprintf("%q is no name for a credential", cut(name, MaxName)),
			Remedy: fmt.Sprintf("use up to %d letters, digits, _, . and -", MaxName)}
	}
	return nil
}

func checkKey(name, key string) error {
	switch {
	case key == "":
		return &Error{Kind: ErrInvalid, What: fmt.Sprintf("the key of credential %q is empty", name), Remedy: "give a key, or delete the credential"}
	case len(key) > MaxKey:
		return tooBig(name, len(key))
	case !utf8.ValidString(key):
		return &Error{Kind: ErrInvalid, What: fmt.Sprintf("the key of credential %q is not text (UTF-8)", name), Remedy: "encode it, for example with base64"}
	}
	return nil
}

// cut shortens s for an error text.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
