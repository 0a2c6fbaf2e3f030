package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Edit changes one node of the file.
type Edit struct {
	// Path are the keys from the top, such as {"agents", "main", "model"}. Missing parents are added.
	Path []string
	// Value is what the node becomes; nil deletes it. Texts, Raw, truth values, int, int64, float64, time.Duration, lists
	// of those ([]string, []any), maps of those (map[string]any, map[string]string) and the types Agent, Params,
	// Provider, Credential and MCP can be written.
	// A map becomes the whole content of the node, but only what differs is touched: entries that mean the same already
	// keep their text, even if that is a reference such as ${VAR}.
	Value any
}

// AgentEdits are the edits that make an agent what a is.
func AgentEdits(name string, a Agent) []Edit {
	return []Edit{{Path: []string{"agents", name}, Value: a}}
}

// Apply makes the edits on the text of a configuration and returns the new text. Both have to be valid: otherwise the
// error is Errors. An edit that would have to touch other nodes is refused with ErrRefused. name stands for the file
// in messages.
func Apply(name string, data []byte, edits ...Edit) ([]byte, error) {
	out, _, err := apply(name, data, edits, os.LookupEnv)
	return out, err
}

// apply also returns the configuration that the new text holds.
func apply(name string, data []byte, edits []Edit, env lookup) ([]byte, *Config, error) {
	cfg, err := parseWith(name, data, env)
	if err != nil {
		return nil, nil, fmt.Errorf("correct the file before it can be changed: %w", err)
	}
	for _, e := range edits {
		if data, err = splice(name, data, e, env); err != nil {
			return nil, nil, err
		}
	}
	if len(edits) > 0 {
		if cfg, err = parseWith(name, data, env); err != nil {
			return nil, nil, fmt.Errorf("the change is not made because the file would not be valid: %w", err)
		}
	}
	return data, cfg, nil
}

// maxSteps bounds the splices of one edit. Each one settles a node, so only a broken file could need more.
const maxSteps = 2000

// splice makes one edit, one node after the other, and proves each step.
func splice(name string, data []byte, e Edit, env lookup) ([]byte, error) {
	if len(e.Path) == 0 || slices.Contains(e.Path, "") {
		return nil, fmt.Errorf("%w: the path %q names no node", ErrRefused, strings.Join(e.Path, "."))
	}
	v, err := newValue(e.Value)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRefused, strings.Join(e.Path, "."), err)
	}
	for range maxSteps {
		d, err := parseDocument(name, data)
		if err != nil {
			return nil, err
		}
		p := planner{document: d, env: env, path: e.Path}
		o, err := p.next(v, e.Value == nil)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return data, nil
		}
		if data, err = d.make(o, name); err != nil {
			return nil, fmt.Errorf("%w: changing %s would change more of %s than that; please change it in an editor (%w)", ErrRefused, strings.Join(e.Path, "."), name, err)
		}
	}
	return nil, fmt.Errorf("%w: %s does not settle", ErrRefused, strings.Join(e.Path, "."))
}

// step is a change of one entry of one mapping or list.
type step struct {
	action action
	in     *yaml.Node // the mapping or list; nil: the file is empty
	index  int        // of the value (or, for insert, where it goes) in in.Content
	key    string     // insert into a mapping
	value  value
	flow   bool // in is inside brackets
}

type action int

const (
	insert  action = iota // a value, with its key if in is a mapping
	replace               // the value at index
	remove                // the value at index, with its key if in is a mapping
)

// planner finds the first difference between the file and what an edit wants.
type planner struct {
	*document
	env  lookup
	path []string
}

func (p *planner) refuse(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%w: %s (line %d): %s; please change it in an editor", ErrRefused, strings.Join(p.path, "."), n.Line, fmt.Sprintf(format, args...))
}

// next is the next step to take, nil when nothing differs.
func (p *planner) next(v value, del bool) (*step, error) {
	if isNull(p.root) {
		if del {
			return nil, nil
		}
		return &step{action: insert, key: p.path[0], value: wrap(p.path[1:], v)}, nil
	}
	at := step{}.below(p.root)
	for i, key := range p.path {
		if err := p.open(at.in); err != nil {
			return nil, err
		}
		if at.in.Kind != yaml.MappingNode {
			return nil, p.refuse(at.in, "%s stands where a mapping is needed", describe(at.in))
		}
		last := i == len(p.path)-1
		found, merged := p.entry(at.in, key)
		switch {
		case found >= 0 && last:
			at.index = found
			return p.settle(at, v, del)
		case found >= 0:
			child := at.in.Content[found]
			if isNull(child) {
				if del {
					return nil, nil
				}
				at.action, at.index, at.value = replace, found, wrap(p.path[i+1:], v)
				return &at, nil
			}
			at = at.below(child)
		case merged != nil && del:
			return nil, p.refuse(merged, "the entry comes through a merge key (<<) and cannot be deleted here")
		case merged != nil && (!last || v.kind == mappingValue):
			return nil, p.refuse(merged, "the entry comes through a merge key (<<) and would hide what stands there")
		case merged != nil && p.equal(merged, v), del:
			return nil, nil
		default:
			at.action, at.index, at.key, at.value = insert, len(at.in.Content), key, wrap(p.path[i+1:], v)
			return &at, nil
		}
	}
	return nil, nil
}

// open reports why a node cannot be changed from within.
func (p *planner) open(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return p.refuse(n, "the alias *%s stands there, and a change would reach every place that uses &%s", n.Value, n.Value)
	case n.Anchor != "" && p.used(n):
		return p.refuse(n, "it is inside &%s, which other places use through *%s", n.Anchor, n.Anchor)
	case n.Kind == yaml.ScalarNode:
		return p.refuse(n, "%s stands where a mapping is needed", describe(n))
	case n.Style&yaml.TaggedStyle != 0:
		return p.refuse(n, "the type %s is written there", n.Tag)
	}
	return nil
}

// below is a step within a child.
func (s step) below(child *yaml.Node) step {
	return step{in: child, flow: s.flow || child.Style&yaml.FlowStyle != 0}
}

// entry finds a key: the index of its value, or else the value that a merge key brings.
func (p *planner) entry(m *yaml.Node, key string) (int, *yaml.Node) {
	merged := false
	for i := 0; i+1 < len(m.Content); i += 2 {
		if isMerge(m.Content[i]) {
			merged = true
		} else if k := resolve(m.Content[i]); k != nil && k.Value == key {
			return i + 1, nil
		}
	}
	if merged {
		for _, e := range (&reader{}).pairs(m, "") {
			if e.key.Value == key {
				return -1, e.value
			}
		}
	}
	return -1, nil
}

// used reports whether an alias somewhere in the file stands for n or for a node in it.
func (p *planner) used(n *yaml.Node) bool {
	anchored := map[*yaml.Node]bool{}
	walk(n, func(m *yaml.Node) {
		if m.Anchor != "" {
			anchored[m] = true
		}
	})
	found := false
	if len(anchored) > 0 {
		walk(p.root, func(m *yaml.Node) { found = found || m.Kind == yaml.AliasNode && anchored[m.Alias] })
	}
	return found
}

// walk visits a node and what is written in it; aliases are not followed.
func walk(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, c := range n.Content {
		walk(c, visit)
	}
}

// settle compares the value at s.index with what is wanted.
func (p *planner) settle(s step, v value, del bool) (*step, error) {
	n := s.in.Content[s.index]
	if !del && p.equal(n, v) {
		return nil, nil
	}
	if !del && n.Kind == yaml.MappingNode && v.kind == mappingValue {
		return p.settleMapping(s.below(n), v)
	}
	if !del && n.Kind == yaml.SequenceNode && v.kind == listValue && len(v.items) > 0 && len(n.Content) > 0 {
		return p.settleList(s.below(n), v.items)
	}
	if p.used(n) {
		return nil, p.refuse(n, "an anchor (&) is defined there, and other places use it")
	}
	s.action, s.value = replace, v
	if del {
		s.action = remove
	}
	return &s, nil
}

// settleMapping finds the first entry of a mapping that differs.
func (p *planner) settleMapping(s step, v value) (*step, error) {
	wanted := map[string]bool{}
	for _, e := range v.entries {
		wanted[e.key] = true
		i, merged := p.entry(s.in, e.key)
		at := s
		at.index = i
		var next *step
		var err error
		switch {
		case i >= 0 && e.omit && e.value.empty() && !p.equal(s.in.Content[i], e.value):
			next, err = p.settle(at, value{}, true)
		case i >= 0:
			next, err = p.settle(at, e.value, false)
		case merged != nil && p.equal(merged, e.value), merged == nil && e.omit:
			continue
		case merged != nil && (e.value.kind == mappingValue || e.value.kind == nullValue):
			return nil, p.refuse(merged, "%s comes through a merge key (<<)", e.key)
		default:
			at.action, at.index, at.key, at.value = insert, len(s.in.Content), e.key, e.value
			next = &at
		}
		if next != nil || err != nil {
			return p.checked(s.in, next, err)
		}
	}
	for i := 0; i+1 < len(s.in.Content); i += 2 {
		k := s.in.Content[i]
		if isMerge(k) {
			for _, e := range (&reader{}).pairs(s.in, "") {
				if !wanted[e.key.Value] {
					return nil, p.refuse(k, "%s comes through a merge key (<<) and cannot be deleted here", e.key.Value)
				}
			}
		} else if name := resolve(k); name != nil && !wanted[name.Value] {
			s.index = i + 1
			next, err := p.settle(s, value{}, true)
			return p.checked(s.in, next, err)
		}
	}
	return nil, nil
}

// checked lets a step pass if the node it changes may be changed.
func (p *planner) checked(in *yaml.Node, next *step, err error) (*step, error) {
	if err != nil {
		return nil, err
	}
	if err := p.open(in); err != nil {
		return nil, err
	}
	return next, nil
}

// settleList finds the first item that differs, from the outside in: what both lists begin and end with stays.
func (p *planner) settleList(s step, items []value) (*step, error) {
	old := s.in.Content
	head := 0
	for head < min(len(old), len(items)) && p.equal(old[head], items[head]) {
		head++
	}
	tail := 0
	for tail < min(len(old), len(items))-head && p.equal(old[len(old)-1-tail], items[len(items)-1-tail]) {
		tail++
	}
	s.index = head
	switch {
	case len(old)-tail == head && len(items)-tail == head:
		return nil, nil
	case len(old)-tail == head:
		s.action, s.value = insert, items[head]
	case len(old) > len(items):
		s.action = remove
	default:
		s.action, s.value = replace, items[head]
	}
	if s.action != insert && p.used(old[head]) {
		return nil, p.refuse(old[head], "an anchor (&) is defined there, and other places use it")
	}
	return p.checked(s.in, &s, nil)
}

// wrap puts a value below missing parents.
func wrap(path []string, v value) value {
	for _, key := range slices.Backward(path) {
		v = value{kind: mappingValue, entries: []entry{{key: key, value: v}}}
	}
	return v
}

// equal reports whether a node means v already.
func (p *planner) equal(n *yaml.Node, v value) bool {
	m := resolve(n)
	switch {
	case m == nil || !plainTag(m):
		return false
	case v.kind == nullValue || v.kind == mappingValue && isNull(m):
		return isNull(m) && !slices.ContainsFunc(v.entries, func(e entry) bool { return !e.omit })
	case v.kind == listValue:
		return m.Kind == yaml.SequenceNode && slices.EqualFunc(m.Content, v.items, p.equal)
	case v.kind == mappingValue:
		return m.Kind == yaml.MappingNode && p.equalMapping(m, v)
	case m.Kind != yaml.ScalarNode:
		return false
	case v.raw:
		return m.ShortTag() == "!!str" && m.Value == v.text
	}
	text, expanded, err := expand(m.Value, p.env)
	switch {
	case err != nil:
		return false
	case v.kind == textValue:
		return v.same(text) && (expanded || m.ShortTag() == "!!str" || m.ShortTag() == "!!timestamp")
	}
	return v.same(text) && (expanded || m.ShortTag() == v.tag || v.tag == "!!float" && m.ShortTag() == "!!int")
}

func (p *planner) equalMapping(m *yaml.Node, v value) bool {
	pairs := (&reader{}).pairs(m, "")
	for _, e := range v.entries {
		i := slices.IndexFunc(pairs, func(q pair) bool { return q.key.Value == e.key })
		if i < 0 && !e.omit || i >= 0 && !p.equal(pairs[i].value, e.value) {
			return false
		}
	}
	return !slices.ContainsFunc(pairs, func(q pair) bool {
		return !slices.ContainsFunc(v.entries, func(e entry) bool { return e.key == q.key.Value })
	})
}
