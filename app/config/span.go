package config

import (
	"bytes"
	"errors"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// errLost says that a node's text was not where its position says. The edit is then refused.
var errLost = errors.New("its text cannot be told from its surroundings")

// start is the offset of a node's first byte.
func (d *document) start(n *yaml.Node) int { return d.offset(n.Line, n.Column) }

// span is where a node's text begins and ends, anchor and type included. The YAML reader keeps the start only; the end
// follows from the style. A node without text (an absent value) is empty.
func (d *document) span(n *yaml.Node) (start, end int, err error) {
	start = d.start(n)
	i := start
	for i < len(d.b) && (d.b[i] == '&' || d.b[i] == '!') && n.Kind != yaml.AliasNode && (n.Anchor != "" || n.Style&yaml.TaggedStyle != 0) {
		end = d.word(i)
		i = d.skipSpace(end)
	}
	switch n.Kind {
	case yaml.AliasNode:
		if i >= len(d.b) || d.b[i] != '*' {
			return 0, 0, errLost
		}
		return start, d.word(i), nil
	case yaml.ScalarNode:
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 && n.Value == "" {
			return start, max(start, end), nil
		}
		end, err = d.scalarEnd(n, i)
		return start, end, err
	}
	end, err = d.collectionEnd(n, i)
	return start, end, err
}

// word is the offset after the characters that may stand in an anchor, alias or type.
func (d *document) word(i int) int {
	for i < len(d.b) && !isBlank(d.b[i]) && breakLen(d.b[i:]) == 0 && !bytes.ContainsRune([]byte(",[]{}"), rune(d.b[i])) {
		i++
	}
	return i
}

func (d *document) scalarEnd(n *yaml.Node, i int) (int, error) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return d.quoteEnd(i, '"', '\\')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return d.quoteEnd(i, '\'', '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return d.blockEnd(i), nil
	}
	return d.plainEnd(n.Value, i)
}

// quoteEnd is the offset after the closing quote. Within double quotes a backslash, within single quotes the quote itself
// takes the next character along.
func (d *document) quoteEnd(i int, quote, escape byte) (int, error) {
	if i >= len(d.b) || d.b[i] != quote {
		return 0, errLost
	}
	for i++; i < len(d.b); i++ {
		switch {
		case d.b[i] == escape && (escape != quote || i+1 < len(d.b) && d.b[i+1] == quote):
			i++
		case d.b[i] == quote:
			return i + 1, nil
		}
	}
	return 0, errLost
}

// plainEnd follows the value through its text: outside white space both are the same, character by character.
func (d *document) plainEnd(value string, i int) (int, error) {
	space := func(b []byte) int {
		if len(b) > 0 && isBlank(b[0]) {
			return 1
		}
		return breakLen(b)
	}
	for v := []byte(value); len(v) > 0; {
		if n := space(v); n > 0 {
			for v = v[n:]; space(v) > 0; {
				v = v[space(v):]
			}
			if space(d.b[i:]) == 0 {
				return 0, errLost
			}
			for space(d.b[i:]) > 0 {
				i += space(d.b[i:])
			}
			continue
		}
		_, n := utf8.DecodeRune(v)
		if !bytes.HasPrefix(d.b[i:], v[:n]) {
			return 0, errLost
		}
		v, i = v[n:], i+n
	}
	return i, nil
}

// blockEnd is the end of the last line of a literal or folded text, before its line break. Lines that follow and are
// empty belong to the text only with the indicator "+".
func (d *document) blockEnd(i int) int {
	header := string(d.b[i:d.lineEnd(i)])
	keep, indent := false, 0
	for _, c := range header[min(1, len(header)):] {
		if c == '+' {
			keep = true
		} else if c >= '1' && c <= '9' {
			indent = int(c - '0')
		} else if c != '-' {
			break
		}
	}
	parent := d.skipBlanks(d.lineStart(i)) - d.lineStart(i)
	least := parent + 1
	end := d.lineEnd(i)
	width := -1
	for at := d.nextLine(i); at < len(d.b); at = d.nextLine(at) {
		first, eol := at, d.lineEnd(at)
		for first < eol && d.b[first] == ' ' {
			first++
		}
		switch {
		case first == eol:
			if keep {
				end = eol
			}
			if d.nextLine(at) == at {
				return end
			}
			continue
		case width < 0 && indent == 0:
			width = first - at
		case width < 0:
			width = parent + indent
		}
		if first-at < width || first-at < least {
			return end
		}
		end = eol
		if eol == len(d.b) {
			return end
		}
	}
	return end
}

// collectionEnd is the offset after the last entry or the closing bracket.
func (d *document) collectionEnd(n *yaml.Node, i int) (int, error) {
	end := i
	for k, c := range n.Content {
		_, e, err := d.span(c)
		if err != nil {
			return 0, err
		}
		if n.Kind == yaml.MappingNode && k%2 == 1 && isAbsent(c) {
			if e, err = d.afterColon(n.Content[k-1]); err != nil {
				return 0, err
			}
		}
		end = max(end, e)
	}
	if n.Style&yaml.FlowStyle == 0 || i >= len(d.b) || d.b[i] != '[' && d.b[i] != '{' {
		return end, nil
	}
	closing := map[byte]byte{'[': ']', '{': '}'}[d.b[i]]
	end = d.skipSpace(max(end, i+1))
	for end < len(d.b) && (d.b[end] == ',') {
		end = d.skipSpace(end + 1)
	}
	if end >= len(d.b) || d.b[end] != closing {
		return 0, errLost
	}
	return end + 1, nil
}

// isAbsent reports whether nothing is written where a value could be.
func isAbsent(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == "" && n.ShortTag() == "!!null"
}

// afterColon is the offset after the colon of a key.
func (d *document) afterColon(key *yaml.Node) (int, error) {
	_, end, err := d.span(key)
	if err != nil {
		return 0, err
	}
	if i := d.skipSpace(end); i < len(d.b) && d.b[i] == ':' {
		return i + 1, nil
	}
	return end, errLost
}
