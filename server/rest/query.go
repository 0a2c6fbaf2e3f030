package rest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// param is one parameter that a route takes from the query.
type param struct {
	name, about string

	// Of a number: its range and what stands for an absent one. max 0 makes the parameter a text.
	min, max, byDefault uint64

	// Of a text: its length in bytes and, if it is one of a few, those.
	maxLen int
	oneOf  []string
}

// maxText bounds texts for which nothing else is said, in bytes.
const maxText = 256

func (p param) number() bool { return p.max > 0 }

// limit is the longest text, in bytes.
func (p param) limit() int {
	if p.maxLen == 0 {
		return maxText
	}
	return p.maxLen
}

// values are the parameters of one request: all that the route has, absent ones with their defaults.
type values struct {
	texts   map[string]string
	numbers map[string]uint64
}

func (v values) text(name string) string { return v.texts[name] }

func (v values) number(name string) uint64 { return v.numbers[name] }

func (v values) int(name string) int { return int(v.numbers[name]) }

// parseQuery reads a query strictly: what is misspelt, given twice or out of range is refused rather than ignored,
// so that nobody takes the answer for that to another question.
func parseQuery(raw string, params []param) (values, error) {
	v := values{map[string]string{}, map[string]uint64{}}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return v, badRequest("", "the query cannot be read: %v", err)
	}
	for name, all := range given {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			return v, badRequest(paramsHint(params), "unknown parameter %s", shown(name))
		}
		if len(all) > 1 {
			return v, badRequest("", "%s is given %d times", name, len(all))
		}
	}
	for _, p := range params {
		text, there := "", given.Has(p.name)
		if there {
			text = given.Get(p.name)
		}
		if p.number() {
			v.numbers[p.name], err = p.parseNumber(text, there)
		} else {
			v.texts[p.name], err = p.parseText(text)
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

func (p param) parseNumber(text string, there bool) (uint64, error) {
	if !there {
		return p.byDefault, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < p.min || n > p.max {
		return 0, badRequest("", "%s must be a whole number from %d to %d, not %s", p.name, p.min, p.max, shown(text))
	}
	return n, nil
}

func (p param) parseText(text string) (string, error) {
	switch {
	case text == "":
		return "", nil
	case !utf8.ValidString(text):
		return "", badRequest("", "%s is not UTF-8", p.name)
	case len(text) > p.limit():
		return "", badRequest("", "%s has %d bytes; at most %d are allowed", p.name, len(text), p.limit())
	case p.oneOf != nil && !slices.Contains(p.oneOf, text):
		return "", badRequest("", "%s must be one of %s, not %s", p.name, strings.Join(p.oneOf, ", "), shown(text))
	}
	return text, nil
}

func paramsHint(params []param) string {
	if len(params) == 0 {
		return "this path takes none"
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	return "the parameters are: " + strings.Join(names, ", ")
}
