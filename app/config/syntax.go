package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
	yaml "go.yaml.in/yaml/v3"
)

// MaxFile bounds the size of a configuration file in bytes.
const MaxFile = 1 << 20

// document is a file that is well-formed YAML.
type document struct {
	text
	root *yaml.Node // nil when there is nothing but comments
}

// parseDocument reads the YAML of a file. Its error is Errors with one element.
func parseDocument(name string, data []byte) (*document, error) {
	fail := func(line, column int, hint, format string, args ...any) (*document, error) {
		return nil, Errors{{File: name, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint}}
	}
	if len(data) > MaxFile {
		return fail(0, 0, "split long instructions or remove what is not needed", "the file is larger than %d KiB", MaxFile>>10)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return fail(1, 1, "save it as UTF-8", "the file is not UTF-8 but UTF-16")
	}
	d := &document{text: newText(data)}
	if i, what := badCharacter(d.b); i >= 0 {
		line, column := d.position(i)
		return fail(line, column, "save the file as UTF-8 and remove the character", "%s", what)
	}
	root, second, err := decode(d.b)
	if err != nil {
		line, column, hint, message := d.explain(err)
		return fail(line, column, hint, "%s", message)
	}
	if second != nil {
		return fail(second.Line, second.Column, `remove the "---" line and what follows it`, "the file holds a second YAML document")
	}
	d.root = root
	return d, nil
}

// decode gives the node below the first document and, if there is one, the second document.
func decode(b []byte) (root, second *yaml.Node, err error) {
	defer func() {
		// The reader reports broken text by panics and recovers from those it knows.
		if r := recover(); r != nil {
			root, second, err = nil, nil, fmt.Errorf("%v", r)
		}
	}()
	var docs [2]*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	for i := range docs {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		docs[i] = &n
	}
	if docs[0] == nil || len(docs[0].Content) == 0 {
		return nil, docs[1], nil
	}
	return docs[0].Content[0], docs[1], nil
}

// badCharacter finds what YAML does not allow in a file, quoted or not.
func badCharacter(b []byte) (int, string) {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return i, "a byte is not UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return i, fmt.Sprintf("the control character U+%04X is not allowed", r)
		}
		i += n
	}
	return -1, ""
}

var (
	yamlLine      = regexp.MustCompile(`line (\d+): `)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// explain finds the place of a syntax error. The reader whose nodes are used names at best a line, often the one before;
// the other YAML library knows the token, so it is asked where the reader stumbled.
func (d *document) explain(err error) (line, column int, hint, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		line = min(line, len(d.line))
		message = strings.Replace(message, m[0], "", 1)
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		line, column = d.find(`(^|[\s\[{,:-])\*` + regexp.QuoteMeta(m[1]))
		return line, column, fmt.Sprintf("define it with &%s before, or put the text in quotes", m[1]), fmt.Sprintf("the alias *%s stands for nothing", m[1])
	}
	if tab := d.indentTab(line); tab >= 0 && (strings.Contains(message, "tab") || strings.Contains(message, "start any token")) {
		line, column = d.position(tab)
		return line, column, "indent with spaces", "a tab is used as indentation"
	}
	if strings.Contains(message, "alphabetic or numeric") {
		line, column = d.find(`\*(\s|$|[\],}])`)
		return line, column, `put it in quotes: "*"`, "a bare * is not text"
	}
	if !strings.Contains(message, "max depth") {
		// It counts some line breaks otherwise: a place outside of the text is not taken over.
		if l, c, m, ok := askToken(d.b); ok && l <= len(d.line) {
			l, c = d.position(d.offset(l, c))
			return l, c, syntaxHint(m), m
		}
	}
	start := d.line[line-1]
	line, column = d.position(d.skipBlanks(start))
	return line, column, syntaxHint(message), message
}

func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "quoted text"):
		return "close the quotation mark"
	case strings.Contains(message, "mapping value is not allowed"), strings.Contains(message, "mapping values are not allowed"):
		return `check the indentation, and put text that holds ": " in quotes`
	case strings.Contains(message, "non-map value"), strings.Contains(message, "not allowed in this context"), strings.Contains(message, "expected key"):
		return `check the indentation and that each key is followed by ":"`
	case strings.Contains(message, "reserved character"):
		return "put the text in quotes"
	}
	return ""
}

// askToken gives the place and the wording of the other library's error, if it has one.
func askToken(b []byte) (line, column int, message string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_, err := parser.ParseBytes(b, 0)
	var syntax *goccy.SyntaxError
	if !errors.As(err, &syntax) || syntax.Token == nil || syntax.Token.Position == nil {
		return 0, 0, "", false
	}
	p := syntax.Token.Position
	return p.Line, p.Column, syntax.Message, p.Line > 0 && p.Column > 0
}

// find is the place of the asterisk in the first match, or the start of the file.
func (d *document) find(pattern string) (line, column int) {
	m := regexp.MustCompile(`(?m)` + pattern).FindIndex(d.b)
	if m == nil {
		return 1, 1
	}
	return d.position(m[0] + bytes.IndexByte(d.b[m[0]:m[1]], '*'))
}

// indentTab is the offset of a tab in the indentation of the line or of the one after it, or -1.
func (d *document) indentTab(line int) int {
	for l := line; l <= line+1 && l <= len(d.line); l++ {
		start := d.line[l-1]
		end := d.skipBlanks(start)
		if i := bytes.IndexByte(d.b[start:end], '\t'); i >= 0 && end < len(d.b) && breakLen(d.b[end:]) == 0 {
			return start + i
		}
	}
	return -1
}
