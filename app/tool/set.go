package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Set is all tools there are, by name. It does not change after NewSet and is safe for concurrent use.
type Set struct {
	byName map[string]Tool
	names  []string // sorted
}

// NewSet collects tools. Two tools of one name are a mistake of the program, reported as an error.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if _, taken := s.byName[name]; taken {
			return nil, fmt.Errorf("adding tool %q: the name is taken", name)
		}
		s.byName[name] = t
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s, nil
}

// Names returns the names of all tools, sorted.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Select returns the tools that an agent's list of patterns names, sorted by name: a tool's name, or a pattern of
// path.Match such as "*". Patterns that match nothing come back in missing.
func (s *Set) Select(patterns []string) (tools []Tool, missing []string) {
	chosen := make(map[string]bool)
	for _, p := range patterns {
		hit := false
		for _, name := range s.names {
			if ok, err := path.Match(p, name); name == p || (err == nil && ok) {
				chosen[name], hit = true, true
			}
		}
		if !hit && strings.TrimSpace(p) != "*" {
			missing = append(missing, p)
		}
	}
	for _, name := range s.names {
		if chosen[name] {
			tools = append(tools, s.byName[name])
		}
	}
	return tools, missing
}
