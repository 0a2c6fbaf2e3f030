package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Raw is text that is written as it is: ${VAR} in it stays a reference. An ordinary string is escaped instead, so that
// reading the file gives the very string back.
type Raw string

type kind int

const (
	nullValue    kind = iota
	textValue         // tag !!str
	plainValue        // true, 12, 0.5: written without quotes
	listValue         // of texts and plain values
	mappingValue      // of entries
)

// value is what an Edit writes.
type value struct {
	kind    kind
	text    string                     // textValue and plainValue: what stands in the file, before YAML quoting
	tag     string                     // of plainValue: !!bool, !!int, !!float
	raw     bool                       // text holds references
	same    func(expanded string) bool // textValue and plainValue: reading that text gives the same
	items   []value
	entries []entry
}

// empty reports whether v says no more than an absent key does.
func (v value) empty() bool {
	return v.kind == nullValue || v.kind == mappingValue || v.kind == textValue && v.text == ""
}

// entry is one key of a mapping. An omitted one is not added where the file does not have it.
type entry struct {
	key   string
	value value
	omit  bool
}

// simple reports whether v reads well within one line.
func (v value) simple() bool {
	switch v.kind {
	case mappingValue:
		return !slices.ContainsFunc(v.entries, func(e entry) bool {
			return !e.omit && (e.value.kind == mappingValue && len(e.value.entries) > 0 || !e.value.simple())
		})
	case listValue:
		return !slices.ContainsFunc(v.items, func(i value) bool { return !i.simple() })
	}
	return !strings.Contains(v.text, "\n")
}

// newValue converts what an Edit holds. The types of this package become mappings without the keys that are absent from
// the file and equal to their defaults.
func newValue(x any) (value, error) {
	switch x := x.(type) {
	case nil:
		return value{}, nil
	case string:
		if !utf8.ValidString(x) {
			return value{}, errors.New("the text is not UTF-8")
		}
		return value{kind: textValue, text: escape(x), same: func(s string) bool { return s == x }}, nil
	case Raw:
		if !utf8.ValidString(string(x)) {
			return value{}, errors.New("the text is not UTF-8")
		}
		return value{kind: textValue, text: string(x), raw: true}, nil
	case bool:
		return plain("!!bool", strconv.FormatBool(x), func(s string) bool { return strings.EqualFold(s, strconv.FormatBool(x)) }), nil
	case int:
		return newValue(int64(x))
	case int64:
		return plain("!!int", strconv.FormatInt(x, 10), func(s string) bool {
			y, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
			return err == nil && y == x
		}), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return value{}, fmt.Errorf("%v is not a number that can be written", x)
		}
		return plain("!!float", strconv.FormatFloat(x, 'g', -1, 64), func(s string) bool {
			y, err := strconv.ParseFloat(s, 64)
			return err == nil && y == x
		}), nil
	case *float64:
		if x == nil {
			return value{}, nil
		}
		return newValue(*x)
	case time.Duration:
		return value{kind: textValue, text: formatDuration(x), same: func(s string) bool {
			y, err := time.ParseDuration(s)
			return err == nil && y == x
		}}, nil
	case []string:
		items := make([]any, len(x))
		for i, s := range x {
			items[i] = s
		}
		return newValue(items)
	case []any:
		v := value{kind: listValue}
		for _, item := range x {
			i, err := newValue(item)
			if err != nil {
				return value{}, err
			}
			if i.kind != textValue && i.kind != plainValue {
				return value{}, fmt.Errorf("a list holds a %T", item)
			}
			v.items = append(v.items, i)
		}
		return v, nil
	case map[string]string:
		return sorted(x)
	case map[string]any:
		return sorted(x)
	case Agent:
		return x.value()
	case Params:
		return mapping(
			member{"temperature", x.Temperature, false},
			member{"top_p", x.TopP, false},
			member{"max_tokens", x.MaxTokens, x.MaxTokens == 0})
	case Provider:
		return mapping(
			member{"credential", x.Credential, x.Credential == ""},
			member{"base_url", x.BaseURL, x.BaseURL == ""},
			member{"type", x.Type, x.Type == ""})
	case Credential:
		return mapping(member{"type", cmp.Or(x.Type, CredentialSimple), false})
	case MCP:
		return mapping(
			member{"enabled", x.Enabled, !x.Enabled},
			member{"require_auth", x.RequireAuth, !x.RequireAuth},
			member{"credential", x.Credential, x.Credential == ""},
			member{"session_ttl", x.SessionTTL, x.SessionTTL == DefaultSessionTTL},
			member{"max_sessions", x.MaxSessions, x.MaxSessions == DefaultMaxSessions},
			member{"progress_without_token", x.ProgressWithoutToken, x.ProgressWithoutToken},
			member{"rotation_grace", x.RotationGrace, x.RotationGrace == DefaultRotationGrace})
	}
	return value{}, fmt.Errorf("a %T cannot be written", x)
}

func plain(tag, text string, same func(string) bool) value {
	return value{kind: plainValue, tag: tag, text: text, same: same}
}

func sorted[V any](m map[string]V) (value, error) {
	v := value{kind: mappingValue}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		e, err := newValue(m[k])
		if err != nil {
			return value{}, fmt.Errorf("%s: %w", k, err)
		}
		v.entries = append(v.entries, entry{key: k, value: e, omit: e.kind == nullValue})
	}
	return v, nil
}

// member is one key of a type of this package. An omitted one stands for the same when it is absent.
type member struct {
	key   string
	value any
	omit  bool
}

func mapping(members ...member) (value, error) {
	v := value{kind: mappingValue}
	for _, m := range members {
		e, err := newValue(m.value)
		if err != nil {
			return value{}, fmt.Errorf("%s: %w", m.key, err)
		}
		v.entries = append(v.entries, entry{key: m.key, value: e, omit: m.omit || e.kind == nullValue})
	}
	return v, nil
}

// value writes an agent. Zero limits stand for their defaults.
func (a Agent) value() (value, error) {
	iterations, history := cmp.Or(a.MaxIterations, DefaultMaxIterations), cmp.Or(a.MaxHistory, DefaultMaxHistory)
	return mapping(
		member{"description", a.Description, a.Description == ""},
		member{"model", a.Model, a.Model == ""},
		member{"instructions", a.Instructions, a.Instructions == ""},
		member{"tools", a.Tools, len(a.Tools) == 0},
		member{"max_iterations", iterations, iterations == DefaultMaxIterations},
		member{"max_history", history, history == DefaultMaxHistory},
		member{"params", a.Params, a.Params == Params{}},
		member{"fallbacks", a.Fallbacks, len(a.Fallbacks) == 0})
}
