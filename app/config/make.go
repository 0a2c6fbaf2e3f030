package config

import (
	"bytes"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// cut replaces the bytes from start to end by text.
type cut struct {
	start, end int
	text       string
}

// make carries out one step on the text and proves that it did what it should and nothing else.
func (d *document) make(s *step, name string) ([]byte, error) {
	var c cut
	var err error
	switch {
	case s.in == nil:
		c, err = d.appendFirst(s)
	case s.action == insert && s.in.Kind == yaml.MappingNode:
		c, err = d.insertEntry(s)
	case s.action == insert:
		c, err = d.insertItem(s)
	case s.action == replace:
		c, err = d.replaceValue(s)
	default:
		c, err = d.removeEntry(s)
	}
	if err != nil {
		return nil, err
	}
	out := bytes.Join([][]byte{[]byte(d.mark), d.b[:c.start], []byte(c.text), d.b[c.end:]}, nil)
	changed, err := parseDocument(name, out)
	if err != nil {
		return nil, err
	}
	if err := d.prove(s, changed); err != nil {
		return nil, err
	}
	return out, nil
}

// column is the column, from 0, of the keys of a mapping or the dashes of a list.
func (d *document) column(in *yaml.Node) int {
	if len(in.Content) == 0 {
		return in.Column - 1
	}
	if in.Kind == yaml.MappingNode {
		return in.Content[0].Column - 1
	}
	i := d.start(in.Content[0])
	return d.skipBlanks(d.lineStart(i)) - d.lineStart(i)
}

// indentStep is how much deeper than its parent the first nested mapping of the file is.
func (d *document) indentStep() int {
	step := 0
	if d.root != nil {
		walk(d.root, func(n *yaml.Node) {
			if step > 0 || n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 {
				return
			}
			for i := 1; i < len(n.Content); i += 2 {
				v := n.Content[i]
				if v.Kind == yaml.MappingNode && v.Style&yaml.FlowStyle == 0 && step == 0 {
					step = v.Content[0].Column - n.Content[i-1].Column
				}
			}
		})
	}
	if step <= 0 {
		return 2
	}
	return step
}

func (d *document) form(s *step, indent int) form {
	return form{flow: s.flow, indent: indent, step: d.indentStep(), nl: d.newline()}
}

// appendFirst writes the first key of a file that holds nothing but comments.
func (d *document) appendFirst(s *step) (cut, error) {
	f := d.form(s, 0)
	text, err := renderEntry(s.key, s.value, f)
	if len(d.b) > 0 && d.lineStart(len(d.b)) != len(d.b) {
		text = f.nl + text
	}
	return cut{len(d.b), len(d.b), text + f.nl}, err
}

// insertEntry adds a key behind the last one of a mapping.
func (d *document) insertEntry(s *step) (cut, error) {
	indent := d.column(s.in)
	f := d.form(s, indent)
	f.inline = inlineChildren(s.in)
	if s.flow {
		text, err := renderEntry(s.key, s.value, f)
		if err != nil {
			return cut{}, err
		}
		return d.insertFlow(s, text)
	}
	text, err := renderEntry(s.key, s.value, f)
	if err != nil {
		return cut{}, err
	}
	_, end, err := d.span(s.in)
	if err != nil {
		return cut{}, err
	}
	end = d.belowComments(d.lineEnd(end), indent)
	c := cut{end, end, f.nl + strings.Repeat(" ", indent) + text}
	if end == len(d.b) {
		c.text += f.nl
	}
	return c, nil
}

// belowComments passes over comment lines that are indented deeper than a new key: they belong to what is above.
func (d *document) belowComments(end, indent int) int {
	for at := d.nextLine(end); at < len(d.b); at = d.nextLine(at) {
		first := d.skipBlanks(at)
		if breakLen(d.b[first:]) > 0 {
			continue
		}
		if first == len(d.b) || d.b[first] != '#' || first-at <= indent {
			break
		}
		end = d.lineEnd(at)
	}
	return end
}

// inlineChildren reports whether all mappings within a mapping are written with brackets.
func inlineChildren(m *yaml.Node) bool {
	found := false
	for i := 1; i < len(m.Content); i += 2 {
		if v := m.Content[i]; v.Kind == yaml.MappingNode && len(v.Content) > 0 {
			if v.Style&yaml.FlowStyle == 0 {
				return false
			}
			found = true
		}
	}
	return found
}

// insertFlow adds an entry inside brackets, before the item at s.index or at the end.
func (d *document) insertFlow(s *step, text string) (cut, error) {
	switch {
	case len(s.in.Content) == 0:
		_, end, err := d.span(s.in)
		if err != nil {
			return cut{}, err
		}
		start := end - 1
		for start > 0 && isBlank(d.b[start-1]) {
			start--
		}
		return cut{start, end - 1, text}, nil
	case s.index == 0:
		start := d.start(s.in.Content[0])
		return cut{start, start, text + ", "}, nil
	}
	last := s.in.Content[s.index-1]
	_, end, err := d.span(last)
	if err != nil {
		return cut{}, err
	}
	if s.in.Kind == yaml.MappingNode && isAbsent(last) {
		// Without the space the comma would belong to the key.
		end, err = d.afterColon(s.in.Content[s.index-2])
		return cut{end, end, " , " + text}, err
	}
	return cut{end, end, ", " + text}, nil
}

// insertItem adds an item to a list.
func (d *document) insertItem(s *step) (cut, error) {
	item, _, err := render(s.value, form{flow: true, nl: d.newline()})
	if err != nil {
		return cut{}, err
	}
	if s.flow {
		return d.insertFlow(s, item)
	}
	line := strings.Repeat(" ", d.column(s.in)) + "- " + item
	if s.index == 0 {
		start := d.lineStart(d.start(s.in.Content[0]))
		return cut{start, start, line + d.newline()}, nil
	}
	_, end, err := d.span(s.in.Content[s.index-1])
	if err != nil {
		return cut{}, err
	}
	end = d.lineEnd(end)
	return cut{end, end, d.newline() + line}, nil
}

// replaceValue puts another value where one stands, or where a key has none.
func (d *document) replaceValue(s *step) (cut, error) {
	old := s.in.Content[s.index]
	f := d.form(s, d.column(s.in))
	f.style = old.Style
	if s.in.Kind == yaml.SequenceNode {
		f.flow = true
	}
	start, end, err := d.span(old)
	if err != nil {
		return cut{}, err
	}
	header := end
	if old.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && end > d.lineEnd(start) {
		header = start + len("|")
		for header < len(d.b) && strings.IndexByte("+-123456789", d.b[header]) >= 0 {
			header++
		}
		first := d.nextLine(header)
		f.body = d.skipBlanks(first) - first
	}
	head, body, err := render(s.value, f)
	if err != nil {
		return cut{}, err
	}
	switch {
	case isAbsent(old) && s.in.Kind == yaml.MappingNode:
		if start, err = d.afterColon(s.in.Content[s.index-1]); err != nil {
			return cut{}, err
		}
		return d.withBody(start, start, lead(head), body), nil
	case old.Style&yaml.FlowStyle == 0 && (old.Kind == yaml.MappingNode || old.Kind == yaml.SequenceNode):
		return d.replaceBlock(s, end, lead(head), body)
	case isAbsent(old):
		return d.withBody(start, start, lead(head), body), nil
	case header < end:
		// The rest of the header's line, a comment perhaps, stays; the lines of the text go.
		rest := string(d.b[header:d.lineEnd(header)])
		return cut{start, end, head + rest + under(body, f.nl)}, nil
	case head == "":
		for start > 0 && isBlank(d.b[start-1]) {
			start--
		}
	}
	return d.withBody(start, end, head, body), nil
}

// withBody replaces a value within its line and puts body below that line, behind what else the line holds.
func (d *document) withBody(start, end int, head, body string) cut {
	if body == "" {
		return cut{start, end, head}
	}
	eol := d.lineEnd(end)
	c := cut{start, eol, head + string(d.b[end:eol]) + under(body, d.newline())}
	if eol == len(d.b) {
		c.text += d.newline()
	}
	return c
}

// replaceBlock replaces the lines of a mapping or list below its key. Comments before its first entry stay.
func (d *document) replaceBlock(s *step, end int, head, body string) (cut, error) {
	if s.in.Kind != yaml.MappingNode {
		return cut{}, errLost
	}
	colon, err := d.afterColon(s.in.Content[s.index-1])
	if err != nil {
		return cut{}, err
	}
	first := d.lineStart(d.start(s.in.Content[s.index]))
	eol := d.lineEnd(colon)
	if first <= eol {
		return cut{}, errLost
	}
	between := strings.TrimSuffix(string(d.b[eol:first]), string(d.b[first-breakLenBefore(d.b[:first]):first]))
	return cut{colon, d.lineEnd(end), head + string(d.b[colon:eol]) + under(body, d.newline()) + between}, nil
}

// breakLenBefore is the length of the line break that b ends with.
func breakLenBefore(b []byte) int {
	for n := min(3, len(b)); n > 0; n-- {
		if breakLen(b[len(b)-n:]) == n {
			return n
		}
	}
	return 0
}

// removeEntry takes a key with its value, or an item of a list, out of the text.
func (d *document) removeEntry(s *step) (cut, error) {
	first := s.in.Content[s.index]
	if s.in.Kind == yaml.MappingNode {
		first = s.in.Content[s.index-1]
	}
	start := d.start(first)
	end, err := d.entryEnd(s.in, s.index)
	if err != nil {
		return cut{}, err
	}
	if s.flow {
		return d.removeFlow(s, start, end)
	}
	line := d.lineStart(start)
	before := strings.TrimLeft(string(d.b[line:start]), " ")
	if s.in.Kind == yaml.SequenceNode {
		before = strings.Trim(strings.TrimPrefix(before, "-"), " ")
	}
	rest := d.skipBlanks(end)
	if before != "" || rest < len(d.b) && breakLen(d.b[rest:]) == 0 && d.b[rest] != '#' {
		return cut{}, errLost
	}
	return cut{line, d.nextLine(end), ""}, nil
}

// entryEnd is the offset after the value at an index, or after the colon of a key without one.
func (d *document) entryEnd(in *yaml.Node, index int) (int, error) {
	if in.Kind == yaml.MappingNode && isAbsent(in.Content[index]) {
		return d.afterColon(in.Content[index-1])
	}
	_, end, err := d.span(in.Content[index])
	return end, err
}

// removeFlow takes an entry and one comma out of brackets.
func (d *document) removeFlow(s *step, start, end int) (cut, error) {
	width := 1
	if s.in.Kind == yaml.MappingNode {
		width = 2
	}
	if s.index+1 < len(s.in.Content) {
		return cut{start, d.start(s.in.Content[s.index+1]), ""}, nil
	}
	if s.index < width { // the only one
		_, closing, err := d.span(s.in)
		if err != nil {
			return cut{}, err
		}
		i := d.skipSpace(end)
		if i < closing && d.b[i] == ',' {
			end = i + 1
		}
		return cut{start, end, ""}, nil
	}
	before, err := d.entryEnd(s.in, s.index-width)
	if err != nil {
		return cut{}, err
	}
	if comma, blanks, found := strings.Cut(string(d.b[before:start]), ","); found && strings.Trim(comma+blanks, " \t") == "" {
		return cut{before, end, ""}, nil
	}
	return cut{start, end, ""}, nil
}
