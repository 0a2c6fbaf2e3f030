package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
)

// maxFlow is the length up to which a list is written within one line.
const maxFlow = 80

// form is how the surroundings want a value to be written.
type form struct {
	flow   bool       // inside brackets: everything within one line
	key    bool       // a key, which has to read well inside and outside of brackets
	inline bool       // a mapping is written with brackets if it is simple
	indent int        // column of the key, from 0
	step   int        // how much deeper its children are
	body   int        // column of the lines of a literal text; 0: indent+step
	style  yaml.Style // of the text that stood there
	nl     string
}

// render writes a value. head follows the key within its line; body, if not empty, are the lines below, without a line
// break at either end.
func render(v value, f form) (head, body string, err error) {
	switch v.kind {
	case nullValue:
		return "null", "", nil
	case plainValue:
		return v.text, "", nil
	case textValue:
		return renderText(v.text, f)
	case listValue:
		return renderList(v, f)
	}
	return renderMapping(v, f)
}

func renderMapping(v value, f form) (head, body string, err error) {
	entries := slices.DeleteFunc(slices.Clone(v.entries), func(e entry) bool { return e.omit })
	if len(entries) == 0 {
		return "{}", "", nil
	}
	inner := form{flow: f.flow || f.inline && v.simple(), indent: f.indent + f.step, step: f.step, nl: f.nl}
	var parts []string
	for _, e := range entries {
		text, err := renderEntry(e.key, e.value, inner)
		if err != nil {
			return "", "", err
		}
		parts = append(parts, text)
	}
	if inner.flow {
		return "{" + strings.Join(parts, ", ") + "}", "", nil
	}
	pad := strings.Repeat(" ", inner.indent)
	return "", pad + strings.Join(parts, f.nl+pad), nil
}

// renderEntry writes "key: value" without indentation before the key.
func renderEntry(key string, v value, f form) (string, error) {
	k, _, err := renderText(key, form{flow: true, key: true, nl: f.nl})
	if err != nil {
		return "", err
	}
	head, body, err := render(v, f)
	if err != nil {
		return "", err
	}
	return k + ":" + lead(head) + under(body, f.nl), nil
}

// lead puts the space between a colon and what follows it; under puts the line break before a body.
func lead(head string) string {
	if head == "" {
		return ""
	}
	return " " + head
}

func under(body, nl string) string {
	if body == "" {
		return ""
	}
	return nl + body
}

func renderList(v value, f form) (head, body string, err error) {
	parts := make([]string, len(v.items))
	inner := form{flow: true, nl: f.nl}
	for i, item := range v.items {
		if parts[i], _, err = render(item, inner); err != nil {
			return "", "", err
		}
	}
	if line := "[" + strings.Join(parts, ", ") + "]"; f.flow || len(line) <= maxFlow || len(parts) < 2 {
		return line, "", nil
	}
	pad := strings.Repeat(" ", f.indent+f.step) + "- "
	return "", pad + strings.Join(parts, f.nl+pad), nil
}

// renderText tries the forms from the most readable one on and takes the first that reads back as the same text.
func renderText(s string, f form) (head, body string, err error) {
	multi := strings.Contains(s, "\n")
	if !f.flow && (multi || f.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0) {
		if head, body, ok := literal(s, f); ok {
			return head, body, nil
		}
	}
	single := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	var forms []string
	switch {
	case multi:
	case f.style&yaml.DoubleQuotedStyle != 0:
	case f.style&yaml.SingleQuotedStyle != 0:
		forms = []string{single}
	case !guarded(s):
		forms = []string{s}
	}
	for _, candidate := range append(forms, quote(s)) {
		text := "k: " + candidate + "\n"
		switch {
		case f.key:
			text = "{k: " + candidate + ", " + candidate + ": 1}\n"
		case f.flow:
			text = "{k: " + candidate + "}\n"
		}
		if readsAs(text, s) {
			return candidate, "", nil
		}
	}
	return "", "", fmt.Errorf("the text %q cannot be written as YAML", shorten(s))
}

// readsAs reports whether the first value of a mapping is the text s.
func readsAs(mapping, s string) bool {
	root, second, err := decode([]byte(mapping))
	if err != nil || second != nil || root == nil || root.Kind != yaml.MappingNode || len(root.Content) < 2 {
		return false
	}
	v := root.Content[1]
	comment := root.HeadComment + root.FootComment + root.Content[0].LineComment + v.HeadComment + v.LineComment + v.FootComment
	return v.Kind == yaml.ScalarNode && v.ShortTag() == "!!str" && v.Value == s && v.Anchor == "" && comment == ""
}

// guarded names texts that this reader takes for text but others take for something else.
func guarded(s string) bool {
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "null", "~", "true", "false":
		return true
	}
	return s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789_:.xoabcdefABCDEF+-") == ""
}

func literal(s string, f form) (head, body string, ok bool) {
	head = "|"
	text, ended := strings.CutSuffix(s, "\n")
	if !ended {
		head = "|-"
	}
	width := f.body
	if width <= f.indent {
		width = f.indent + f.step
	}
	pad := strings.Repeat(" ", width)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = pad + l
		}
	}
	body = strings.Join(lines, f.nl)
	key := strings.Repeat(" ", f.indent) + "k: "
	return head, body, text != "" && readsAs(key+head+f.nl+body+f.nl, s)
}

// quote writes a text in double quotes, everything unusual escaped.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r > 0xffff && r&0xfffe == 0xfffe, r == utf8.RuneError:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
