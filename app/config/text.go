package config

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const bom = "\xef\xbb\xbf"

// text is the content of a file as the YAML reader counts it: lines from 1, columns in characters from 1.
type text struct {
	mark string // the byte order mark, or ""
	b    []byte // without the mark
	line []int  // offset of each line's first byte
}

func newText(data []byte) text {
	t := text{b: data}
	if rest, found := bytes.CutPrefix(data, []byte(bom)); found {
		t.mark, t.b = bom, rest
	}
	t.line = append(t.line, 0)
	for i := 0; i < len(t.b); {
		n := breakLen(t.b[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		t.line = append(t.line, i)
	}
	return t
}

// breakLen is the length of the line break that b starts with. YAML 1.1, which the reader follows, has five of them.
func breakLen(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\r\n")):
		return 2
	case len(b) > 0 && (b[0] == '\n' || b[0] == '\r'):
		return 1
	case bytes.HasPrefix(b, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(b, []byte("\u2028")), bytes.HasPrefix(b, []byte("\u2029")):
		return 3
	}
	return 0
}

// offset finds a position given by line and column; past the end of a line it is that line's end.
func (t *text) offset(line, column int) int {
	if line > len(t.line) {
		return len(t.b)
	}
	i := t.line[max(line, 1)-1]
	for ; column > 1 && i < len(t.b) && breakLen(t.b[i:]) == 0; column-- {
		_, n := utf8.DecodeRune(t.b[i:])
		i += n
	}
	return i
}

// position is the inverse of offset.
func (t *text) position(offset int) (line, column int) {
	line, found := slices.BinarySearch(t.line, offset)
	if found {
		line++
	}
	return line, utf8.RuneCount(t.b[t.line[line-1]:offset]) + 1
}

// lineStart and lineEnd bound the line that offset i is in, without its line break.
func (t *text) lineStart(i int) int {
	line, _ := t.position(i)
	return t.line[line-1]
}

func (t *text) lineEnd(i int) int {
	for i < len(t.b) && breakLen(t.b[i:]) == 0 {
		i++
	}
	return i
}

// nextLine is the offset after the line break that ends the line of i.
func (t *text) nextLine(i int) int {
	i = t.lineEnd(i)
	return i + breakLen(t.b[i:])
}

// newline is the line break the file uses.
func (t *text) newline() string {
	if i := t.lineEnd(0); bytes.HasPrefix(t.b[i:], []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// skipBlanks passes over spaces and tabs.
func (t *text) skipBlanks(i int) int {
	for i < len(t.b) && isBlank(t.b[i]) {
		i++
	}
	return i
}

// skipSpace passes over blanks, line breaks and comments.
func (t *text) skipSpace(i int) int {
	for i < len(t.b) {
		n := breakLen(t.b[i:])
		switch {
		case n > 0:
			i += n
		case isBlank(t.b[i]):
			i++
		case t.b[i] == '#' && (i == 0 || isBlank(t.b[i-1]) || t.lineStart(i) == i):
			i = t.lineEnd(i)
		default:
			return i
		}
	}
	return i
}
