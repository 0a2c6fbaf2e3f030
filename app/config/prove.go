package config

import (
	"fmt"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// prove compares the tree of the changed text with the tree that the step should have led to.
func (d *document) prove(s *step, changed *document) error {
	want := d.expected(s)
	if changed.root == nil {
		changed.root = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return same(want, changed.root)
}

// anyStyle marks expected nodes that are new: they may be written in any style.
const anyStyle yaml.Style = 1 << 30

// expected is the tree after a step.
func (d *document) expected(s *step) *yaml.Node {
	if s.in == nil {
		return valueNode(value{kind: mappingValue, entries: []entry{{key: s.key, value: s.value}}})
	}
	var copied *yaml.Node
	var clone func(n *yaml.Node) *yaml.Node
	clone = func(n *yaml.Node) *yaml.Node {
		c := *n
		c.Content = make([]*yaml.Node, len(n.Content))
		for i := range n.Content {
			c.Content[i] = clone(n.Content[i])
		}
		if n == s.in {
			copied = &c
		}
		return &c
	}
	root := clone(d.root)
	switch {
	case s.action == insert && s.in.Kind == yaml.MappingNode:
		copied.Content = append(copied.Content, valueNode(value{kind: textValue, text: s.key}), valueNode(s.value))
	case s.action == insert:
		copied.Content = slices.Insert(copied.Content, s.index, valueNode(s.value))
	case s.action == replace:
		copied.Content[s.index] = valueNode(s.value)
	case s.in.Kind == yaml.MappingNode:
		copied.Content = slices.Delete(copied.Content, s.index-1, s.index+1)
	default:
		copied.Content = slices.Delete(copied.Content, s.index, s.index+1)
	}
	if len(copied.Content) == 0 && copied.Style&yaml.FlowStyle == 0 {
		// The lines of a mapping or list are gone: its key has no value any more.
		copied.Kind, copied.Tag, copied.Style = yaml.ScalarNode, "!!null", anyStyle
	}
	return root
}

func valueNode(v value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Style: anyStyle, Value: v.text}
	switch v.kind {
	case nullValue:
		n.Tag, n.Value = "!!null", "null"
	case textValue:
		n.Tag = "!!str"
	case plainValue:
		n.Tag = v.tag
	case listValue:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v.items {
			n.Content = append(n.Content, valueNode(item))
		}
	case mappingValue:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for _, e := range v.entries {
			if !e.omit {
				n.Content = append(n.Content, valueNode(value{kind: textValue, text: e.key}), valueNode(e.value))
			}
		}
	}
	return n
}

// same compares what two trees mean and, for what was there before, how it is written.
func same(want, got *yaml.Node) error {
	differ := func(what string) error { return fmt.Errorf("line %d would have another %s", got.Line, what) }
	tags := want.ShortTag() == got.ShortTag() || want.Style == anyStyle && want.Tag == "!!float" && got.ShortTag() == "!!int"
	switch {
	case want.Kind != got.Kind || !tags:
		return differ("type")
	case want.Value != got.Value:
		return differ("value")
	case want.Anchor != got.Anchor:
		return differ("anchor")
	case want.Style != anyStyle && want.Style != got.Style:
		return differ("style")
	case len(want.Content) != len(got.Content):
		return differ("number of entries")
	}
	for i := range want.Content {
		if err := same(want.Content[i], got.Content[i]); err != nil {
			return err
		}
	}
	return nil
}
