package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
)

// pattern is one form of a key. A text that begins with the first anchor bytes of it matches, and as much of the rest
// as follows belongs to the match.
type pattern struct {
	text   string
	anchor int  // at least 2
	word   bool // only if no letter or digit stands on either side
	tail   bool // base64 whose next character has bits of the key too, and may be followed by padding
}

// table is what a Redactor looks up, never changed once it is in use.
type table struct {
	keys     map[string]bool
	patterns map[uint16][]pattern // by their first two bytes
	pairs    [1 << 16 / 64]uint64 // bit set of the keys of patterns
	single   [256]bool            // first bytes of patterns
}

// with returns a copy that also knows key. It may be called on nil.
func (t *table) with(key string) *table {
	n := &table{keys: map[string]bool{}, patterns: map[uint16][]pattern{}}
	if t != nil {
		*n = *t
		n.keys, n.patterns = maps.Clone(t.keys), maps.Clone(t.patterns)
	}
	n.keys[key] = true
	for _, p := range forms(key) {
		pair := uint16(p.text[0])<<8 | uint16(p.text[1])
		n.patterns[pair] = append(n.patterns[pair][:len(n.patterns[pair]):len(n.patterns[pair])], p)
		n.pairs[pair/64] |= 1 << (pair % 64)
		n.single[p.text[0]] = true
	}
	return n
}

// Bytes of a beginning in other forms. Ten characters of base64 are 60 bits, the most that the first 8 bytes decide.
const (
	escapeAnchor = 12
	base64Anchor = 10
)

// forms lists the ways in which a key may turn up, without repetitions.
func forms(key string) []pattern {
	var all []pattern
	seen := map[string]bool{}
	short, long := len(key) < wordBelow, len(key) >= prefixFrom
	add := func(text string, anchor int, tail bool) {
		if seen[text] || len(text) < MinRedacted {
			return
		}
		seen[text] = true
		if !long || anchor > len(text) {
			anchor = len(text)
		}
		all = append(all, pattern{text: text, anchor: anchor, word: short, tail: tail})
	}
	add(key, prefixBytes, false)
	for _, e := range []string{
		url.QueryEscape(key), url.PathEscape(key), inner(strconv.Quote(key)), inner(strconv.QuoteToASCII(key)),
		jsonEscape(key), jsonEscape(jsonEscape(key)), plainJSONEscape(key), plainJSONEscape(plainJSONEscape(key)),
	} {
		add(e, escapeAnchor, false)
		add(lowerEscapes(e), escapeAnchor, false)
	}
	for _, list := range [][2]string{{"%02x", ""}, {"%02X", ""}, {"%d", " "}, {"%d", ","}, {"%d", ", "}, {"%#x", ", "}} {
		text := byteList(key, list[0], list[1])
		add(text, len(byteList(key[:min(len(key), prefixBytes)], list[0], list[1])), false)
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if short {
			add(encoding.EncodeToString([]byte(key)), 0, false)
			add(encoding.WithPadding('=').EncodeToString([]byte(key)), 0, false)
			continue
		}
		for offset := range 3 {
			core, tail := base64Core(encoding, key, offset)
			add(core, base64Anchor, tail)
		}
	}
	return all
}

// base64Core encodes key as if offset bytes stood before it and others behind, and keeps the characters that depend on
// the key alone. tail: the character after them still has bits of the key.
func base64Core(encoding *base64.Encoding, key string, offset int) (core string, tail bool) {
	encoded := encoding.EncodeToString(append(make([]byte, offset), key...))
	from := []int{0, 2, 3}[offset] // characters with bits of what stands before
	bits := (offset + len(key)) * 8
	return encoded[from : bits/6], bits%6 != 0
}

// byteList writes every byte with a verb of fmt.
func byteList(s, verb, separator string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 {
			b.WriteString(separator)
		}
		_, _ = fmt.Fprintf(&b, verb, s[i])
	}
	return b.String()
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func jsonEscape(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // not possible for a string
		return s
	}
	return inner(string(b))
}

// plainJSONEscape is what encoders write that leave <, > and & alone.
func plainJSONEscape(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return s
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

// lowerEscapes turns %2F into %2f and leaves the rest as it is.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}
