package model

import (
	"slices"
	"strings"
	"unicode"
)

// defaultAgent is preferred where nothing else decides.
const defaultAgent = "main"

// Words of an equal beginning count as the same, so that "translate" finds "translation".
const stemLength = 5

// bestMatch chooses an agent for a text by the number of its words that occur in the agent's name or description.
// Words that occur in every description say nothing and do not count. The current agent stays unless another one has
// more; without a current one and without a match it is main, else the first by name. "" only without agents.
func bestMatch(agents []RouteAgent, current, text string) string {
	if len(agents) == 0 {
		return ""
	}
	agents = slices.Clone(agents)
	slices.SortFunc(agents, func(a, b RouteAgent) int { return strings.Compare(a.Name, b.Name) })
	fallback := agents[0].Name
	described := make([][]string, len(agents))
	for i, a := range agents {
		described[i] = words(strings.NewReplacer("_", " ", "-", " ").Replace(a.Name) + " " + a.Description)
		if a.Name == defaultAgent {
			fallback = a.Name
		}
	}
	score := make(map[string]int, len(agents))
	for _, w := range words(text) {
		var hits []string
		for i, a := range agents {
			if slices.ContainsFunc(described[i], func(d string) bool { return alike(w, d) }) {
				hits = append(hits, a.Name)
			}
		}
		if len(hits) == len(agents) {
			continue
		}
		for _, name := range hits {
			score[name]++
		}
	}
	if slices.ContainsFunc(agents, func(a RouteAgent) bool { return a.Name == current }) {
		fallback = current
	}
	best := fallback
	for _, a := range agents {
		if score[a.Name] > score[best] {
			best = a.Name
		}
	}
	return best
}

// words are the distinct words of a text in lower case, without the short ones that carry no topic. In scripts that
// put no spaces between words each character is a word.
func words(text string) []string {
	var out []string
	add := func(w string) {
		if !slices.Contains(out, w) && !stopWords[w] {
			out = append(out, w)
		}
	}
	for _, f := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		start := 0
		for i, r := range f {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
				if start < i {
					add(f[start:i])
				}
				add(string(r))
				start = i + len(string(r))
			}
		}
		if start < len(f) {
			add(f[start:])
		}
	}
	return out
}

var stopWords = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields("a an and are as at be by can could do for from help how i in is it its me my of on or please that the this to want what with would you your") {
		m[w] = true
	}
	return m
}()

func alike(a, b string) bool {
	if a == b {
		return true
	}
	ra, rb := []rune(a), []rune(b)
	return len(ra) >= stemLength && len(rb) >= stemLength && slices.Equal(ra[:stemLength], rb[:stemLength])
}
