package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a message, so that a body of brackets cannot exhaust the stack.
const maxDepth = 256

var (
	errSyntax = errors.New("not valid JSON")
	errDepth  = errors.New("nested too deeply")
)

// skipSpace returns the position of the first byte that is not JSON whitespace.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// checkJSON reports whether b is exactly one JSON value in UTF-8 (RFC 8259), with whitespace around it allowed.
func checkJSON(b []byte) error {
	i, err := skipValue(b, skipSpace(b, 0), 0)
	if err != nil {
		return err
	}
	if skipSpace(b, i) != len(b) || !utf8.Valid(b) {
		return errSyntax
	}
	return nil
}

// skipValue returns the position after the value that begins at b[i].
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, errSyntax
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return i, errDepth
		}
		if c == '{' {
			return skipObject(b, i, depth)
		}
		return skipArray(b, i, depth)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, errSyntax
	}
	return i + len(word), nil
}

func skipObject(b []byte, i, depth int) (int, error) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipString(b, i); err != nil {
			return i, err
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return i, errSyntax
		}
		if i, err = skipValue(b, skipSpace(b, i+1), depth+1); err != nil {
			return i, err
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, errSyntax
		}
		if b[i] == '}' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, errSyntax
		}
		i = skipSpace(b, i+1)
	}
}

func skipArray(b []byte, i, depth int) (int, error) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipValue(b, i, depth+1); err != nil {
			return i, err
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, errSyntax
		}
		if b[i] == ']' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, errSyntax
		}
		i = skipSpace(b, i+1)
	}
}

func skipString(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, errSyntax
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return i, errSyntax
		case c == '\\':
			if i++; i >= len(b) {
				return i, errSyntax
			}
			if b[i] == 'u' {
				for range 4 {
					if i++; i >= len(b) || !isHex(b[i]) {
						return i, errSyntax
					}
				}
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), b[i]) < 0 {
				return i, errSyntax
			}
		}
	}
	return i, errSyntax
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func skipDigits(b []byte, i int) (int, error) {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return i, errSyntax
	}
	return i, nil
}

func skipNumber(b []byte, i int) (int, error) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	var err error
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, err = skipDigits(b, i); err != nil {
		return i, err
	}
	if i < len(b) && b[i] == '.' {
		if i, err = skipDigits(b, i+1); err != nil {
			return i, err
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i, nil
}

// members walks an object that checkJSON has accepted. It does nothing for any other value.
type members struct {
	b          []byte
	i          int
	key, value []byte // of the current member; key without quotes, escapes resolved
}

func membersOf(raw []byte) members {
	if kindOf(raw) != kindObject {
		return members{}
	}
	return members{b: raw, i: skipSpace(raw, 0) + 1}
}

func (m *members) next() bool {
	i := skipSpace(m.b, m.i)
	if i < len(m.b) && m.b[i] == ',' {
		i = skipSpace(m.b, i+1)
	}
	if i >= len(m.b) || m.b[i] != '"' {
		return false
	}
	end, err := skipString(m.b, i)
	if err != nil {
		return false
	}
	m.key = m.b[i+1 : end-1]
	if bytes.IndexByte(m.key, '\\') >= 0 {
		m.key = []byte(unquote(m.b[i:end]))
	}
	start := skipSpace(m.b, skipSpace(m.b, end)+1)
	if m.i, err = skipValue(m.b, start, 0); err != nil {
		return false
	}
	m.value = m.b[start:m.i]
	return true
}

// member returns the raw value of the first member with that name, nil when there is none.
func member(raw []byte, name string) []byte {
	for m := membersOf(raw); m.next(); {
		if string(m.key) == name {
			return m.value
		}
	}
	return nil
}

// elements splits an array that checkJSON has accepted. It stops after limit elements.
func elements(raw []byte, limit int) [][]byte {
	var list [][]byte
	i := skipSpace(raw, skipSpace(raw, 0)+1)
	for i < len(raw) && raw[i] != ']' && len(list) < limit {
		end, err := skipValue(raw, i, 0)
		if err != nil {
			break
		}
		list = append(list, raw[i:end])
		if i = skipSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return list
}

// kind is the JSON type of a value.
type kind uint8

const (
	kindNone kind = iota // no value at all
	kindNull
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

func kindOf(raw []byte) kind {
	i := skipSpace(raw, 0)
	if i >= len(raw) {
		return kindNone
	}
	switch raw[i] {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBool
	case '"':
		return kindString
	case '[':
		return kindArray
	case '{':
		return kindObject
	}
	return kindNumber
}

// unquote decodes a JSON string; "" for any other value.
func unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
