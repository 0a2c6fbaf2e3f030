package config

import (
	"fmt"
	"strings"
)

// lookup is os.LookupEnv, or what a test gives instead.
type lookup func(name string) (value string, found bool)

// expand replaces ${NAME} by the variable's value and ${NAME:-text} by text where the variable is unset or empty, as a
// shell does. "$${" stands for the characters "${"; every other dollar is an ordinary character. Values are not
// expanded again. The second result tells whether anything was replaced. Errors never hold a value.
func expand(s string, env lookup) (string, bool, error) {
	if !strings.Contains(s, "${") {
		return s, false, nil
	}
	var b strings.Builder
	replaced := false
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), replaced, nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		inner, rest, closed := strings.Cut(s[i+2:], "}")
		name, fallback, hasFallback := strings.Cut(inner, ":-")
		if !closed || !isVariable(name) || strings.Contains(fallback, "${") {
			return "", false, &expandError{text: reference(s[i:])}
		}
		value, found := env(name)
		if hasFallback && value == "" {
			value, found = fallback, true
		}
		if !found {
			return "", false, &expandError{unset: name}
		}
		b.WriteString(value)
		s, replaced = rest, true
	}
}

// escape is the inverse of expand for text without references.
func escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// expandError is either a variable that is not set or text that looks like a reference and is none.
type expandError struct{ unset, text string }

func (e *expandError) Error() string {
	if e.unset != "" {
		return fmt.Sprintf("the environment variable %s is not set", e.unset)
	}
	return fmt.Sprintf("%q is not a reference to an environment variable", e.text)
}

func (e *expandError) hint() string {
	if e.unset != "" {
		return fmt.Sprintf("set it, give a default with ${%s:-default}, or write $${%s} if the text itself is meant", e.unset, e.unset)
	}
	return "write ${NAME} or ${NAME:-default}, or $${ if the text itself is meant"
}

// maxQuoted bounds how much of the file's text an error repeats.
const maxQuoted = 40

// reference is the start of s up to the brace that closes it, shortened for a message.
func reference(s string) string {
	if i := strings.IndexAny(s, "}\n"); i >= 0 && i < maxQuoted {
		return strings.TrimSuffix(s[:i+1], "\n")
	}
	return shorten(s)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		return string(r[:maxQuoted]) + "…"
	}
	return s
}

func isVariable(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
