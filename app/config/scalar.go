package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// scalar is the text of a node after expansion.
type scalar struct {
	node     *yaml.Node
	text     string
	tag      string // what YAML takes the unexpanded text for: !!str, !!int, …
	expanded bool   // a variable was put in: the text may stand for any type, and is not repeated in messages
}

// shown is what a message may repeat.
func (s scalar) shown() string { return shorten(s.node.Value) }

func (r *reader) scalar(n *yaml.Node, what string) (scalar, bool) {
	m := resolve(n)
	if m == nil || m.Kind != yaml.ScalarNode || !plainTag(m) {
		r.problem(n, "", "%s must be %s", what, "a single value, not "+describe(m))
		return scalar{}, false
	}
	text, expanded, err := expand(m.Value, r.env)
	var bad *expandError
	if errors.As(err, &bad) {
		r.problem(m, bad.hint(), "%s: %v", what, bad)
		return scalar{}, false
	}
	return scalar{node: placed(m, n), text: text, tag: m.ShortTag(), expanded: expanded}, true
}

func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	s, ok := r.scalar(n, what)
	if !ok {
		return "", false
	}
	switch s.tag {
	case "!!bool", "!!int", "!!float":
		if !s.expanded {
			r.problem(n, fmt.Sprintf("put it in quotes: %q", s.shown()), "%s must be text, not %s", what, describe(s.node))
			return "", false
		}
	}
	return s.text, true
}

func (r *reader) string(what string, into *string) field {
	return func(n *yaml.Node) {
		if s, ok := r.text(n, what); ok {
			*into = s
		}
	}
}

func (r *reader) bool(what string, into *bool) field {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		switch v := strings.ToLower(s.text); {
		case s.tag != "!!bool" && !s.expanded, v != "true" && v != "false":
			r.problem(n, "write true or false without quotes", "%s must be true or false, not %q", what, s.shown())
		default:
			*into = v == "true"
		}
	}
}

func (r *reader) int(what string, low, high int, into *int) field {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(s.text, "_", ""), 0, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || s.tag != "!!int" && !s.expanded {
			r.problem(n, "write digits without quotes", "%s must be a whole number, not %q", what, s.shown())
			return
		}
		if err != nil || v < int64(low) || v > int64(high) {
			r.problem(n, "", "%s must be between %d and %d, not %s", what, low, high, s.shown())
			return
		}
		*into = int(v)
	}
}

func (r *reader) float(what string, low, high float64, into **float64) field {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := strconv.ParseFloat(s.text, 64)
		if err != nil || s.tag != "!!int" && s.tag != "!!float" && !s.expanded {
			r.problem(n, "write a number such as 0.7 without quotes", "%s must be a number, not %q", what, s.shown())
			return
		}
		if math.IsNaN(v) || v < low || v > high {
			r.problem(n, "", "%s must be between %v and %v, not %s", what, low, high, s.shown())
			return
		}
		*into = &v
	}
}

func (r *reader) duration(what string, low, high time.Duration, into *time.Duration) field {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := time.ParseDuration(s.text)
		if err != nil {
			r.problem(n, "write a number with a unit, such as 90s, 15m or 24h", "%s must be a duration, not %q", what, s.shown())
			return
		}
		if v < low || v > high {
			r.problem(n, "", "%s must be between %s and %s, not %s", what, formatDuration(low), formatDuration(high), s.shown())
			return
		}
		*into = v
	}
}

func (r *reader) size(what string, low, high int64, into *int64) field {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := parseSize(s.text)
		if err != nil {
			r.problem(n, "write a number with a unit, such as 512KiB or 10MiB", "%s must be a size, not %q", what, s.shown())
			return
		}
		if v < low || v > high {
			r.problem(n, "", "%s must be between %s and %s, not %s", what, formatSize(low), formatSize(high), s.shown())
			return
		}
		*into = v
	}
}

// strings reads a list of texts. check looks at each of them.
func (r *reader) strings(what string, into *[]string, check func(n *yaml.Node, s string)) field {
	return func(n *yaml.Node) {
		m := resolve(n)
		if m == nil || m.Kind != yaml.SequenceNode || !plainTag(m) {
			r.problem(n, "write it as [one, two]", "%s must be a list, not %s", what, describe(m))
			return
		}
		list := make([]string, 0, len(m.Content))
		for _, item := range m.Content {
			if s, ok := r.text(item, "an entry of "+what); ok {
				check(item, s)
				list = append(list, s)
			}
		}
		*into = list
	}
}
