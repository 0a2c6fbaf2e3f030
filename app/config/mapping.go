package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	yaml "go.yaml.in/yaml/v3"
)

// pair is one entry of a mapping.
type pair struct {
	key   *yaml.Node
	value *yaml.Node
}

// resolve follows aliases. It is nil for an alias within its own anchor.
func resolve(n *yaml.Node) *yaml.Node {
	for hops := 0; n != nil && n.Kind == yaml.AliasNode; hops++ {
		if hops > 100 {
			return nil
		}
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

// reader turns nodes into values and notes what is wrong with them.
type reader struct {
	problems
	env lookup
}

func (r *reader) problem(n *yaml.Node, hint, format string, args ...any) {
	r.add(n.Line, n.Column, hint, format, args...)
}

// pairs are the entries of a mapping, those of merge keys last; an entry hides the later ones of the same name.
// Null is an empty mapping. What is not a mapping, a key given twice and a key that is no name are problems.
func (r *reader) pairs(n *yaml.Node, where string) []pair {
	if isNull(resolve(n)) {
		return nil
	}
	return r.collect(n, where, map[string]*yaml.Node{}, map[*yaml.Node]bool{})
}

func (r *reader) collect(n *yaml.Node, where string, seen map[string]*yaml.Node, visited map[*yaml.Node]bool) []pair {
	m := resolve(n)
	if m == nil || m.Kind != yaml.MappingNode || !plainTag(m) {
		r.problem(n, "write it as key: value lines", "%s must be a mapping, not %s", where, describe(m))
		return nil
	}
	if visited[m] {
		return nil
	}
	visited[m] = true
	var own, merged []pair
	var merges []*yaml.Node
	here := map[string]*yaml.Node{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if isMerge(k) {
			merges = append(merges, v)
			continue
		}
		name := resolve(k)
		if name == nil || name.Kind != yaml.ScalarNode || isNull(name) {
			r.problem(k, "a key is a plain name", "a key of %s must be a name, not %s", where, describe(name))
			continue
		}
		if first := here[name.Value]; first != nil {
			r.problem(k, fmt.Sprintf("it is first given in line %d; keep one of them", first.Line), "the key %q is given twice", name.Value)
			continue
		}
		here[name.Value] = k
		if seen[name.Value] == nil {
			seen[name.Value] = k
			own = append(own, pair{placed(name, k), v})
		}
	}
	for _, v := range merges {
		list := []*yaml.Node{v}
		if s := resolve(v); s != nil && s.Kind == yaml.SequenceNode {
			list = s.Content
		}
		for _, one := range list {
			merged = append(merged, r.collect(one, "the value of <<", seen, visited)...)
		}
	}
	return append(own, merged...)
}

// plainTag reports whether a node has no type written to it that this program would have to know.
func plainTag(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	switch n.ShortTag() {
	case "!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!":
		return true
	}
	return false
}

// field reads the value of one key.
type field func(value *yaml.Node)

// fields reads a mapping whose keys are known.
func (r *reader) fields(n *yaml.Node, where string, known map[string]field) {
	for _, p := range r.pairs(n, where) {
		read, ok := known[p.key.Value]
		if !ok {
			r.problem(p.key, nearest(p.key.Value, slices.Sorted(maps.Keys(known))), "the key %q is unknown in %s", p.key.Value, where)
			continue
		}
		if !isNull(resolve(p.value)) {
			read(p.value)
		}
	}
}

// nearest says which known word was probably meant, or lists them all.
func nearest(word string, known []string) string {
	best, distance := "", len(word)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), k); d < distance || best == "" {
			best, distance = k, d
		}
	}
	if 2*distance <= max(len(best), len(word)) {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return fmt.Sprintf("the nearest known one is %q of %s", best, strings.Join(known, ", "))
}

// describe names what a node is, for messages.
func describe(n *yaml.Node) string {
	switch {
	case n == nil:
		return "an alias of itself"
	case !plainTag(n):
		return fmt.Sprintf("a value of the type %s", shorten(n.Tag))
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	switch n.ShortTag() {
	case "!!bool":
		return "a truth value"
	case "!!int", "!!float":
		return "a number"
	}
	return fmt.Sprintf("the text %q", shorten(n.Value))
}

// placed is a scalar as it is reported: its value, at the place where the file has it or its alias.
func placed(n, at *yaml.Node) *yaml.Node {
	if n == at {
		return n
	}
	c := *n
	c.Line, c.Column = at.Line, at.Column
	return &c
}
