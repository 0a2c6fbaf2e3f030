package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// argumentRules are the parts of an input schema that are checked before a tool runs: required, type, enum, minimum,
// maximum, minLength, maxLength of the top-level members, and additionalProperties: false. Whatever else a schema says
// is the tool's own business. A complete validator would cost more than the rest of the request: it decodes into maps.
type argumentRules struct {
	required []string
	rules    map[string]*argumentRule
	closed   bool
}

type argumentRule struct {
	types     []string
	enum      []string // as written in the schema
	min, max  *float64
	minLength *int // in characters
	maxLength *int
}

func compileArguments(schema json.RawMessage) (*argumentRules, error) {
	if schema == nil {
		schema = json.RawMessage(emptySchema)
	}
	var s struct {
		Type                 string                     `json:"type"`
		Required             []string                   `json:"required"`
		Properties           map[string]json.RawMessage `json:"properties"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("reading input schema: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("input schema has type %q, want object", s.Type)
	}
	rules := &argumentRules{
		required: s.Required,
		closed:   string(s.AdditionalProperties) == "false",
		rules:    make(map[string]*argumentRule, len(s.Properties)),
	}
	for name, raw := range s.Properties {
		rule, err := compileRule(raw)
		if err != nil {
			return nil, fmt.Errorf("reading schema of %s: %w", name, err)
		}
		rules.rules[name] = rule
	}
	return rules, nil
}

func compileRule(raw json.RawMessage) (*argumentRule, error) {
	rule := &argumentRule{}
	if kindOf(raw) != kindObject { // true and false are schemas too
		return rule, nil
	}
	var p struct {
		Type      json.RawMessage   `json:"type"`
		Enum      []json.RawMessage `json:"enum"`
		Minimum   *float64          `json:"minimum"`
		Maximum   *float64          `json:"maximum"`
		MinLength *int              `json:"minLength"`
		MaxLength *int              `json:"maxLength"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	switch kindOf(p.Type) {
	case kindString:
		rule.types = []string{unquote(p.Type)}
	case kindArray:
		if err := json.Unmarshal(p.Type, &rule.types); err != nil {
			return nil, err
		}
	}
	for _, value := range p.Enum {
		rule.enum = append(rule.enum, string(value))
	}
	rule.min, rule.max, rule.minLength, rule.maxLength = p.Minimum, p.Maximum, p.MinLength, p.MaxLength
	return rule, nil
}

// check looks at arguments, a JSON object. missing names a required argument that is absent; problem is a sentence
// about any other fault. Null stands for "not given" in an optional argument: models write it that way.
func (r *argumentRules) check(arguments []byte) (missing, problem string) {
	for _, name := range r.required {
		if member(arguments, name) == nil {
			return name, ""
		}
	}
	var unknown []string
	for it := membersOf(arguments); it.next(); {
		rule, known := r.rules[string(it.key)]
		if !known {
			if r.closed {
				unknown = append(unknown, strconv.Quote(clip(string(it.key), 100)))
			}
			continue
		}
		if kindOf(it.value) == kindNull && !slices.Contains(r.required, string(it.key)) {
			continue
		}
		if fault := rule.check(it.value); fault != "" {
			return "", fmt.Sprintf("argument %q %s", it.key, fault)
		}
	}
	if unknown != nil {
		return "", r.unknownText(unknown)
	}
	return "", ""
}

// maxNamedArguments bounds how many unknown arguments a refusal names.
const maxNamedArguments = 10

func (r *argumentRules) unknownText(unknown []string) string {
	text := "unknown argument"
	if len(unknown) > 1 {
		text += "s"
	}
	if len(unknown) > maxNamedArguments {
		unknown = append(unknown[:maxNamedArguments], "…")
	}
	text += " " + strings.Join(unknown, ", ")
	if len(r.rules) == 0 {
		return text + "; this tool takes none"
	}
	names := make([]string, 0, len(r.rules))
	for name := range r.rules {
		names = append(names, name)
	}
	slices.Sort(names)
	return text + "; this tool takes " + strings.Join(names, ", ")
}

func (r *argumentRule) check(value []byte) string {
	k := kindOf(value)
	if len(r.types) > 0 && !slices.ContainsFunc(r.types, func(t string) bool { return matchesType(t, k, value) }) {
		return "must be " + typeNames(r.types) + ", not " + describe(k, value)
	}
	if len(r.enum) > 0 && !r.allows(k, value) {
		return "must be one of " + strings.Join(r.enum, ", ")
	}
	switch k {
	case kindNumber:
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return "is out of range"
		}
		if r.min != nil && f < *r.min {
			return "must be at least " + strconv.FormatFloat(*r.min, 'g', -1, 64)
		}
		if r.max != nil && f > *r.max {
			return "must be at most " + strconv.FormatFloat(*r.max, 'g', -1, 64)
		}
		if slices.Contains(r.types, "integer") && !fitsInteger(value) {
			return "is out of range"
		}
	case kindString:
		if r.minLength == nil && r.maxLength == nil {
			return ""
		}
		n := len([]rune(unquote(value)))
		if r.minLength != nil && n < *r.minLength {
			if n == 0 {
				return "must not be empty"
			}
			return fmt.Sprintf("must have at least %d characters", *r.minLength)
		}
		if r.maxLength != nil && n > *r.maxLength {
			return fmt.Sprintf("must have at most %d characters", *r.maxLength)
		}
	}
	return ""
}

// allows compares strings by their content and everything else as written.
func (r *argumentRule) allows(k kind, value []byte) bool {
	for _, allowed := range r.enum {
		if string(value) == allowed || k == kindString && unquote([]byte(allowed)) == unquote(value) && allowed[0] == '"' {
			return true
		}
	}
	return false
}

func matchesType(t string, k kind, value []byte) bool {
	switch t {
	case "string":
		return k == kindString
	case "number":
		return k == kindNumber
	case "integer":
		return k == kindNumber && isInteger(value)
	case "boolean":
		return k == kindBool
	case "array":
		return k == kindArray
	case "object":
		return k == kindObject
	case "null":
		return k == kindNull
	}
	return true
}

// isInteger reports whether a number has no fraction; 1.0 and 1e2 have none (JSON Schema 2020-12, 6.1.1).
func isInteger(value []byte) bool {
	if !strings.ContainsAny(string(value), ".eE") {
		return true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return err == nil && f == float64(int64(f))
}

// plain writes whole numbers such as 50.0 or 5e1, which models send and JSON Schema takes for integers, as digits where
// a rule wants an integer: encoding/json has no place for the other forms in a Go integer. Everything else stays as
// written; mostly that is all of it.
func (r *argumentRules) plain(arguments []byte) []byte {
	var out []byte
	from := 0
	for it := membersOf(arguments); it.next(); {
		rule := r.rules[string(it.key)]
		if rule == nil || kindOf(it.value) != kindNumber || !slices.Contains(rule.types, "integer") || !bytes.ContainsAny(it.value, ".eE") {
			continue
		}
		f, err := strconv.ParseFloat(string(it.value), 64)
		if err != nil || f != float64(int64(f)) {
			continue
		}
		out = strconv.AppendInt(append(out, arguments[from:it.i-len(it.value)]...), int64(f), 10)
		from = it.i
	}
	if from == 0 {
		return arguments
	}
	return append(out, arguments[from:]...)
}

// fitsInteger reports whether a number written in digits fits into 64 bits, which is all that a tool can decode.
func fitsInteger(value []byte) bool {
	if bytes.ContainsAny(value, ".eE") {
		return true // isInteger has looked at it
	}
	_, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil
}

func typeNames(types []string) string {
	names := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "integer", "array", "object":
			names[i] = "an " + t
		case "null":
			names[i] = t
		default:
			names[i] = "a " + t
		}
	}
	return strings.Join(names, " or ")
}

func describe(k kind, value []byte) string {
	if k == kindNumber && len(value) <= 32 {
		return string(value)
	}
	return k.String()
}
