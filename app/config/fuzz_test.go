package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"ionclaw-tray/assets"
)

func seeds() []string {
	return []string{
		full, text1, string(assets.StarterConfig), "", "{}", "server: {port: 1}", "a: &a {b: 1}\nc: *a\n<<: *a\n", "a:\n- b\n- c: d\n",
		"a: |+\n  x\n\n\nb: >-\n  y\n", "a: \"x\\ty\"\r\nb: 'it''s'\r\n", "? a\n: b\n", "---\na: !!str 1\n...\n", "{a: [1, {b: c}], d: }", "a: x\n  y\n\n  z # c\n",
	}
}

// Whatever the bytes are, reading ends with a configuration or with problems that have a place in the text.
func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := parseWith("f", data, envOf("WHO", "x", "MODEL", "a/b"))
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got %v and %v", cfg, err)
		}
		var list Errors
		if err != nil && (!errors.As(err, &list) || len(list) == 0) {
			t.Fatalf("got %T", err)
		}
		lines := len(newText(data).line)
		for _, e := range list {
			if e.Line < 0 || e.Line > lines || e.Line > 0 && (e.Column < 1 || e.Column > len(data)+1) || e.Message == "" {
				t.Errorf("%+v is not in a text of %d lines", e, lines)
			}
		}
	})
}

// An edit of any YAML either is refused or leaves every other value, and every byte around it, as they were.
func FuzzEdit(f *testing.F) {
	for i, s := range seeds() {
		f.Add([]byte(s), "server.port", "x", byte(i))
		f.Add([]byte(s), "agents.main.instructions", "a\nb\n", byte(0))
		f.Add([]byte(s), "a", "- #", byte(i+1))
		f.Add([]byte(s), "a.b", "", byte(i+2))
	}
	f.Fuzz(func(t *testing.T, data []byte, dotted, text string, choice byte) {
		keys := path(dotted)
		var v any
		switch choice % 5 {
		case 0:
			v = text
		case 1:
			v = nil
		case 2:
			v = strings.Split(text, ",")
		case 3:
			v = map[string]any{"k": text, "n": 7, "l": []string{text}}
		case 4:
			v = choice > 100
		}
		before, ok := plainTree(data)
		if !ok {
			return
		}
		out, err := splice("f", data, Edit{keys, v}, envOf())
		if err != nil {
			return
		}
		after, ok := plainTree(out)
		if !ok {
			t.Fatalf("%q became %q, which cannot be read", data, out)
		}
		got, had := take(after, keys), take(before, keys)
		if !keptLines(data, out, had) {
			t.Errorf("%q became %q: comment lines are gone or moved", data, out)
		}
		if want := readBack(v); !reflect.DeepEqual(got, want) && !reflect.DeepEqual(got, had) {
			t.Errorf("%q became %q: got %#v, want %#v", data, out, got, want)
		}
		if isEmpty(before) && isEmpty(after) {
			return
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q: besides %q\ngot  %#v\nwant %#v", data, out, dotted, after, before)
		}
	})
}

// plainTree decodes with the library's own rules, as an independent witness. It reports false for what cannot be read
// and for keys that are no texts, whose names the two sides spell differently.
func plainTree(data []byte) (tree any, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return tree, yaml.Unmarshal(data, &tree) == nil && named(tree)
}

func named(tree any) bool {
	switch t := tree.(type) {
	case map[any]any:
		return false
	case map[string]any:
		for _, v := range t {
			if !named(v) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(t, func(v any) bool { return !named(v) })
	}
	return true
}

// isEmpty holds for an empty file and for an empty mapping, which are the same to this program.
func isEmpty(tree any) bool {
	m, ok := tree.(map[string]any)
	return tree == nil || ok && len(m) == 0
}

// take removes the value at a path, and parents that are empty then, and returns it.
func take(tree any, keys []string) any {
	m, ok := tree.(map[string]any)
	if !ok {
		return nil
	}
	if len(keys) == 1 {
		defer delete(m, keys[0])
		return m[keys[0]]
	}
	child := m[keys[0]]
	got := take(child, keys[1:])
	if isEmpty(child) {
		delete(m, keys[0])
	}
	return got
}

func readBack(v any) any {
	switch v := v.(type) {
	case string:
		return escape(v)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = escape(s)
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			m[k] = readBack(x)
		}
		return m
	}
	return v
}

// keptLines reports whether all lines of data that begin with a comment are in out, in their order, when nothing was to be
// deleted or replaced: had is what the path named before.
func keptLines(data, out []byte, had any) bool {
	if strings.HasPrefix(string(data), bom) != strings.HasPrefix(string(out), bom) {
		return false
	}
	if had != nil {
		return true
	}
	rest := string(out)
	for line := range strings.SplitSeq(string(data), "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			continue
		}
		_, after, found := strings.Cut(rest, line)
		if !found {
			return false
		}
		rest = after
	}
	return true
}
