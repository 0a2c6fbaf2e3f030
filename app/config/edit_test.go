package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/assets"
)

// text1 keeps one of everything that an edit must leave alone.
const text1 = `# top comment
server: {host: 127.0.0.1,   port: 8080}   # flow, odd spaces

"channels":
    mcp:
        enabled:   true   # on
        credential: 'mcp_token'  # the token
credentials: {mcp_token: {type: simple}, "anthropic": {type: simple}}
providers:
    anthropic: {credential: anthropic}   # needs a key
    own: {base_url: "${BASE:-https://own.example.org}/v1"}
agents:
    # the main one
    main:
        model: ${MODEL:-builtin/offline}
        instructions: |   # shown to the model
          First line, price $5.

            indented
        # about tools
        tools:
          - clock       # the time
          - mcp_client  # other servers
        fallbacks: [ ollama/a, ollama/b ]
    # second:
    #     model: x/y
# bottom comment
`

func path(s string) []string { return strings.Split(s, ".") }

func TestEdit(t *testing.T) {
	topP := 0.5
	for _, c := range []struct {
		name  string
		edits []Edit
		// old and new alternate: each old text occurs once and is replaced by the new one.
		change []string
	}{
		{"plain scalar", []Edit{{path("channels.mcp.enabled"), false}}, []string{"enabled:   true   # on", "enabled:   false   # on"}},
		{"flow scalar", []Edit{{path("server.port"), 9000}}, []string{"port: 8080}   #", "port: 9000}   #"}},
		{"flow key added", []Edit{{path("server.max_body"), "1MiB"}}, []string{"port: 8080}", "port: 8080, max_body: 1MiB}"}},
		{"flow key deleted", []Edit{{path("server.port"), nil}}, []string{",   port: 8080}", "}"}},
		{"first flow key deleted", []Edit{{path("server.host"), nil}}, []string{"host: 127.0.0.1,   ", ""}},
		{"single quotes stay", []Edit{{path("channels.mcp.credential"), "anthropic"}}, []string{"'mcp_token'", "'anthropic'"}},
		{"duration", []Edit{{path("channels.mcp.session_ttl"), 2 * time.Hour}}, []string{"  # the token\n", "  # the token\n        session_ttl: 2h\n"}},
		{"double quotes stay", []Edit{{path("providers.own.base_url"), "http://a/b"}}, []string{`"${BASE:-https://own.example.org}/v1"`, `"http://a/b"`}},
		{"raw reference", []Edit{{path("providers.own.base_url"), Raw("http://${H:-h}/b")}}, []string{`${BASE:-https://own.example.org}/v1`, `http://${H:-h}/b`}},
		{"same value keeps its reference", []Edit{{path("agents.main.model"), "builtin/offline"}, {path("providers.own.base_url"), "https://own.example.org/v1"}}, nil},
		{"text with a reference is escaped", []Edit{{path("agents.main.description"), "say ${X}"}}, []string{"ollama/b ]\n", "ollama/b ]\n        description: say $${X}\n"}},
		{"literal", []Edit{{path("agents.main.instructions"), "New.\n\nText ${V}\n"}}, []string{"          First line, price $5.\n\n            indented\n", "          New.\n\n          Text $${V}\n"}},
		{"literal becomes one line", []Edit{{path("agents.main.instructions"), "New."}}, []string{"|   # shown to the model\n          First line, price $5.\n\n            indented\n", "|-   # shown to the model\n          New.\n"}},
		{"block item added", []Edit{{path("agents.main.tools"), []string{"clock", "mcp_client", "x"}}}, []string{"# other servers\n", "# other servers\n          - x\n"}},
		{"block item in front", []Edit{{path("agents.main.tools"), []string{"x", "clock", "mcp_client"}}}, []string{"          - clock ", "          - x\n          - clock "}},
		{"block item replaced", []Edit{{path("agents.main.tools"), []string{"x", "mcp_client"}}}, []string{"- clock  ", "- x  "}},
		{"block item deleted", []Edit{{path("agents.main.tools"), []string{"mcp_client"}}}, []string{"          - clock       # the time\n", ""}},
		{"block list emptied", []Edit{{path("agents.main.tools"), []string{}}}, []string{"tools:\n          - clock       # the time\n          - mcp_client  # other servers\n", "tools: []\n"}},
		{"flow item added", []Edit{{path("agents.main.fallbacks"), []string{"ollama/a", "ollama/c", "ollama/b"}}}, []string{"ollama/a, ", "ollama/a, ollama/c, "}},
		{"flow item deleted", []Edit{{path("agents.main.fallbacks"), []string{"ollama/a"}}}, []string{", ollama/b ", " "}},
		{"flow list emptied", []Edit{{path("agents.main.fallbacks"), []any{}}}, []string{"[ ollama/a, ollama/b ]", "[]"}},
		{"map entry like its siblings", []Edit{{path("providers.ollama"), Provider{BaseURL: "http://h:1/v1"}}}, []string{`/v1"}` + "\n", `/v1"}` + "\n    ollama: {base_url: http://h:1/v1}\n"}},
		{"new parents", []Edit{{path("agents_runtime.max_parallel"), 3}}, []string{"#     model: x/y\n", "#     model: x/y\nagents_runtime:\n    max_parallel: 3\n"}},
		{"credential type", []Edit{{path("credentials.new.type"), "simple"}}, []string{`"anthropic": {type: simple}}`, `"anthropic": {type: simple}, new: {type: simple}}`}},
		{"new agent", AgentEdits("b_2", Agent{Description: "it: is\n", Model: "ollama/x", Instructions: "a\nb", Tools: []string{"*"}, MaxHistory: 7, MaxIterations: 40, Params: Params{TopP: &topP}}),
			[]string{"ollama/b ]\n", "ollama/b ]\n    b_2:\n        description: |\n            it: is\n        model: ollama/x\n        instructions: |-\n            a\n            b\n        tools: [\"*\"]\n        max_history: 7\n        params:\n            top_p: 0.5\n"}},
		{"agent changed", AgentEdits("main", Agent{Model: "builtin/offline", Instructions: "First line, price $5.\n\n  indented\n", Tools: []string{"clock"}, Fallbacks: []string{"ollama/a", "ollama/b"}}),
			[]string{"          - mcp_client  # other servers\n", ""}},
		{"agent deleted", []Edit{{path("agents.main"), nil}}, []string{text1[strings.Index(text1, "    main:"):strings.Index(text1, "    # second")], ""}},
		{"nothing to delete", []Edit{{path("agents.other.model"), nil}, {path("classifier"), nil}}, nil},
		{"two edits", []Edit{{path("server.port"), 0}, {path("channels.mcp.require_auth"), true}}, []string{"8080", "0", "# the token\n", "# the token\n        require_auth: true\n"}},
		{"the channel", []Edit{{path("channels.mcp"), MCP{Enabled: true, RequireAuth: true, Credential: "mcp_token", SessionTTL: DefaultSessionTTL, MaxSessions: DefaultMaxSessions, ProgressWithoutToken: true, RotationGrace: time.Second}}},
			[]string{"# the token\n", "# the token\n        require_auth: true\n        rotation_grace: 1s\n"}},
	} {
		for _, variant := range []struct {
			name string
			f    func(string) string
		}{
			{"LF", func(s string) string { return s }},
			{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
			{"BOM", func(s string) string { return bom + s }},
			{"no end", func(s string) string { return strings.TrimSuffix(s, "\n") }},
			{"wide", func(s string) string { return strings.ReplaceAll(s, "comment", "Größe 𝄞 日本") }},
		} {
			want := text1
			for i := 0; i < len(c.change); i += 2 {
				if strings.Count(want, c.change[i]) != 1 {
					t.Fatalf("%s: %q is in the text %d times", c.name, c.change[i], strings.Count(want, c.change[i]))
				}
				want = strings.Replace(want, c.change[i], c.change[i+1], 1)
			}
			got, err := Apply("c.yml", []byte(variant.f(text1)), c.edits...)
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, variant.name, err)
			} else if string(got) != variant.f(want) {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", c.name, variant.name, got, variant.f(want))
			}
		}
	}
}

func TestEditSmallFiles(t *testing.T) {
	for _, c := range []struct {
		src  string
		edit Edit
		want string
	}{
		{"", Edit{path("server.port"), 1}, "server:\n  port: 1\n"},
		{"# only\n", Edit{path("server.port"), 1}, "# only\nserver:\n  port: 1\n"},
		{"# only", Edit{path("server.port"), 1}, "# only\nserver:\n  port: 1\n"},
		{"---\n", Edit{path("server.port"), 1}, "---\nserver:\n  port: 1\n"},
		{"{}", Edit{path("server.port"), 1}, "{server: {port: 1}}"},
		{"{ server: {} }\n", Edit{path("server.port"), 1}, "{ server: {port: 1} }\n"},
		{"{server: , agents: }", Edit{path("server.port"), 1}, "{server: {port: 1} , agents: }"},
		{"{agents: , server: }", Edit{path("classifier.model"), "ollama/x"}, "{agents: , server: , classifier: {model: ollama/x} }"},
		{"server:", Edit{path("server.port"), 1}, "server:\n  port: 1\n"},
		{"server:   # none\nagents:\n", Edit{path("server.port"), 1}, "server:   # none\n  port: 1\nagents:\n"},
		{"server: ~\n", Edit{path("server.port"), 1}, "server:\n  port: 1\n"},
		{"server: {}\n", Edit{path("server.port"), 1}, "server: {port: 1}\n"},
		{"server:\n  port: 1\n", Edit{path("server.port"), nil}, "server:\n"},
		{"server:\n  port: 1", Edit{path("server"), nil}, ""},
		{"server:\n  port: # p\n", Edit{path("server.port"), 1}, "server:\n  port: 1 # p\n"},
		{"server: {port: 1,}\n", Edit{path("server.port"), nil}, "server: {}\n"},
		{"server: {\n  port: 1, # p\n  host: localhost # h\n}\n", Edit{path("server.host"), nil}, "server: {\n  port: 1, # p\n   # h\n}\n"},
		{"agents: {a: {tools: \"*\"}}\n", Edit{path("agents.a.tools"), []string{"x", "z"}}, "agents: {a: {tools: [x, z]}}\n"},
		{"agents:\n  a:\n    tools:\n    - x # c\n    - y\n", Edit{path("agents.a.tools"), []string{"y"}}, "agents:\n  a:\n    tools:\n    - y\n"},
		{"agents: {a: {instructions: x}}\n", Edit{path("agents.a.instructions"), "a\n\"b\"\t\u2028\u0085\r"}, "agents: {a: {instructions: \"a\\n\\\"b\\\"\\t\\u2028\\x85\\r\"}}\n"},
		{"agents:\n  a:\n    instructions: >-\n      x\n      y\n    model:\n", Edit{path("agents.a.instructions"), "z"}, "agents:\n  a:\n    instructions: |-\n      z\n    model:\n"},
		{"agents:\n  a:\n    instructions: x\n      y\n\n      z  # c\n", Edit{path("agents.a.instructions"), "p\nq\n"}, "agents:\n  a:\n    instructions: |  # c\n      p\n      q\n"},
		{"agents:\n  a:\n    instructions: |+\n      x\n\n    # c\n", Edit{path("agents.a.instructions"), "y\n"}, "agents:\n  a:\n    instructions: |\n      y\n    # c\n"},
		{"agents:\n  a:\n    description: x\n", Edit{path("agents.a.description"), " lead: trail "}, "agents:\n  a:\n    description: \" lead: trail \"\n"},
		{"agents:\n  a:\n    description: x\n", Edit{path("agents.a.description"), "yes"}, "agents:\n  a:\n    description: \"yes\"\n"},
		{"agents:\n  a:\n    description: x\n", Edit{path("agents.a.description"), "0x1F"}, "agents:\n  a:\n    description: \"0x1F\"\n"},
		{"agents:\n  a:\n    description: x\n", Edit{path("agents.a.description"), "a #b"}, "agents:\n  a:\n    description: \"a #b\"\n"},
		{"agents:\n  a:\n    description: x\n", Edit{path("agents.a.description"), ""}, "agents:\n  a:\n    description: \"\"\n"},
		{"agents:\n  a: &u\n      description: x\n", Edit{path("agents.a.model"), "ollama/x"}, "agents:\n  a: &u\n      description: x\n      model: ollama/x\n"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n  c: {<<: *a}\n", Edit{path("agents.c.model"), "ollama/y"}, "agents:\n  a: &a {model: ollama/x}\n  b: *a\n  c: {<<: *a, model: ollama/y}\n"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.b"), Agent{Model: "ollama/x"}}, "agents:\n  a: &a {model: ollama/x}\n  b: *a\n"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.b"), nil}, "agents:\n  a: &a {model: ollama/x}\n"},
		{"agents:\n  a: {model: &m ollama/x}\n  b: {model: *m }\n", Edit{path("agents.b.model"), "ollama/y"}, "agents:\n  a: {model: &m ollama/x}\n  b: {model: ollama/y }\n"},
		{"agents:\n  a: &a {model: ollama/x}\n", Edit{path("agents.a"), nil}, "agents:\n"},
		{"credentials:\n  1: {}\n", Edit{path("credentials.1.type"), "simple"}, "credentials:\n  1: {type: simple}\n"},
		{"channels: {mcp: {session_ttl: 1440m, max_sessions: 0x3e8}}", Edit{path("channels.mcp"), MCP{SessionTTL: 24 * time.Hour, MaxSessions: 1000, ProgressWithoutToken: true, RotationGrace: time.Minute}}, "channels: {mcp: {session_ttl: 1440m, max_sessions: 0x3e8}}"},
		{"agents: {a: {max_history: 3, params: {max_tokens: 1}, description: d}}", Edit{path("agents.a"), Agent{}}, "agents: {a: {max_history: 100}}"},
		{"agents:\n  a:\n    params:\n      max_tokens: 1\n    model: ollama/x\n", Edit{path("agents.a.params"), map[string]any{"temperature": 1.0, "top_p": nil}}, "agents:\n  a:\n    params:\n      temperature: 1\n    model: ollama/x\n"},
	} {
		got, err := Apply("c.yml", []byte(c.src), c.edit)
		if err != nil || string(got) != c.want {
			t.Errorf("%q, %v = %v:\ngot  %q, %v\nwant %q", c.src, c.edit.Path, c.edit.Value, got, err, c.want)
		}
	}
}

func TestEditRefusals(t *testing.T) {
	for _, c := range []struct {
		src  string
		edit Edit
		is   error
		want string
	}{
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.b.model"), "ollama/y"}, ErrRefused, "the alias *a stands there"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.a.model"), "ollama/y"}, ErrRefused, "inside &a, which other places use through *a"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.a"), Agent{Model: "ollama/y"}}, ErrRefused, "inside &a"},
		{"agents:\n  a: &a {model: ollama/x}\n  b: *a\n", Edit{path("agents.a"), nil}, ErrRefused, "an anchor (&) is defined there"},
		{"agents:\n  a: {model: &m ollama/x}\n  b: {model: *m }\n", Edit{path("agents.a.model"), "ollama/y"}, ErrRefused, "an anchor (&) is defined there"},
		{"agents:\n  a: {tools: [&m x, y]}\n  b: {tools: [*m ]}\n", Edit{path("agents.a.tools"), []string{"y"}}, ErrRefused, "an anchor (&) is defined there"},
		{"agents:\n  a: &a {model: ollama/x, params: {max_tokens: 1}}\n  c: {<<: *a}\n", Edit{path("agents.c.model"), nil}, ErrRefused, "comes through a merge key (<<) and cannot be deleted"},
		{"agents:\n  a: &a {model: ollama/x, params: {max_tokens: 1}}\n  c: {<<: *a}\n", Edit{path("agents.c.params.max_tokens"), 5}, ErrRefused, "comes through a merge key (<<) and would hide"},
		{"agents:\n  a: &a {model: ollama/x, description: d}\n  c: {<<: *a}\n", Edit{path("agents.c"), map[string]any{"model": "ollama/x"}}, ErrRefused, "description comes through a merge key"},
		{"server: {port: 1}", Edit{path("server.port.x"), 1}, ErrRefused, "a number stands where a mapping is needed"},
		{"server: {port: 1}", Edit{nil, 1}, ErrRefused, "names no node"},
		{"server: {port: 1}", Edit{[]string{"server", ""}, 1}, ErrRefused, "names no node"},
		{"server: {port: 1}", Edit{path("server.port"), struct{}{}}, ErrRefused, "cannot be written"},
		{"agents: {}", Edit{path("agents.a.description"), "\xff"}, ErrRefused, "not UTF-8"},
		{"server: {port: 1}", Edit{path("server.port"), 70000}, ErrInvalid, "the change is not made because the file would not be valid: c.yml:1:16: server.port must be"},
		{"server: {port: 1}", Edit{path("servre.port"), 1}, ErrInvalid, `the key "servre" is unknown`},
		{"credentials: {a: }\nchannels: {mcp: {credential: a}}", Edit{path("credentials.a"), nil}, ErrInvalid, `names the credential "a", which is not defined`},
		{"server: {prot: 1}", Edit{path("server.port"), 1}, ErrInvalid, "correct the file before it can be changed: c.yml:1:10"},
		{"? server\n: {port: 1}\n", Edit{path("server"), nil}, ErrRefused, "would change more"},
		{"---\n...\n", Edit{path("server.port"), 1}, ErrRefused, "would change more"},
	} {
		got, err := Apply("c.yml", []byte(c.src), c.edit)
		if got != nil || !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q, %v = %v:\ngot  %q, %v\nwant %v: %s", c.src, c.edit.Path, c.edit.Value, got, err, c.is, c.want)
		}
	}
}

// Texts of all kinds survive writing and reading, in every place and over every former style.
func TestEditTextRoundTrip(t *testing.T) {
	texts := []string{"x", "two words", "a: b", "a #b", "- a", "? a", "{a}", "[a", "*a", "&a", "!a", "%a", "@a", "`a", "'a'", "\"a\"", "a\\nb", "null", "~", "true", "1", "1.5", "2024-01-01", "<<", "=", ".", "---", "...", " a", "a ", "\ta", "a\n", "a\nb", "\na", "a\n\n", "\n", "  a\nb\n", "a\n  b\n\n\nc\n", "a \nb\t\n", "\tx\n\ty\n", "# no comment\nb\n", "a\r\nb", "é𝄞", "\ufeffx", "\u2028", "a\u0085b\n", "\x00\x1b\x7f", "\U0001fffe", "\ufffd", "${A}", "$${A}", strings.Repeat("long ", 500), "--- a\n--- b\n", "a:\n  - b: |\n c\n"}
	for _, former := range []string{"old", "'old'", "\"old\"", "|\n      old\n      old", "|-  # c\n        old", ">+\n      old\n", "", "~", "old\n      older", "!!str old"} {
		for _, s := range texts {
			src := "agents:\n  a:\n    description: " + former + "\n    # keep\n    max_history: 5 # keep\n"
			got, cfg, err := apply("c.yml", []byte(src), []Edit{{path("agents.a.description"), s}, {path("agents.b.description"), s}}, envOf())
			if err != nil {
				t.Errorf("%.50q over %q: %.300v", s, former, err)
				continue
			}
			if cfg.Agents["a"].Description != s || cfg.Agents["b"].Description != s || cfg.Agents["a"].MaxHistory != 5 || strings.Count(string(got), "# keep") != 2 {
				t.Errorf("%q over %q: got %q", s, former, got)
			}
			if _, cfg, err = apply("c.yml", []byte("{agents: {a: {}}}"), []Edit{{path("agents.a.description"), s}}, envOf()); err != nil || cfg.Agents["a"].Description != s {
				t.Errorf("%q in brackets: %v", s, err)
			}
		}
	}
}

func TestEditStarter(t *testing.T) {
	out, err := Apply("c.yml", assets.StarterConfig,
		Edit{path("credentials.mcp_token.type"), "simple"}, Edit{path("channels.mcp.require_auth"), true}, Edit{path("channels.mcp.credential"), "mcp_token"},
		Edit{path("agents.coder"), Agent{Description: "Writes code", Model: "ollama/x", Instructions: "Be exact.\nAsk.\n"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse("c.yml", out)
	if err != nil || !cfg.Channels.MCP.RequireAuth || cfg.Agents["coder"].Instructions != "Be exact.\nAsk.\n" {
		t.Errorf("got %+v, %v", cfg, err)
	}
	rest := strings.Split(string(out), "\n")
	for _, line := range strings.Split(string(assets.StarterConfig), "\n") {
		i := 0
		for i < len(rest) && rest[i] != line {
			i++
		}
		if i == len(rest) {
			t.Fatalf("the line %q is gone or moved:\n%s", line, out)
		}
		rest = rest[i+1:]
	}
	back, err := Apply("c.yml", out, Edit{path("agents.coder"), nil}, Edit{path("channels.mcp.require_auth"), nil}, Edit{path("channels.mcp.credential"), nil}, Edit{path("credentials"), nil})
	if err != nil || string(back) != string(assets.StarterConfig) {
		t.Errorf("undone: %v\n%s", err, back)
	}
}

// An agent that is read and written back unchanged does not change the file.
func TestEditIdentity(t *testing.T) {
	for _, src := range []string{text1, string(assets.StarterConfig), "agents:\n  a: &a {model: ollama/x}\n  b: {<<: *a, max_history: 3}\n  c: *a\n"} {
		cfg, err := Parse("c.yml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		edits := []Edit{{path("channels.mcp"), cfg.Channels.MCP}}
		if !strings.Contains(src, "mcp:") {
			edits = nil
		}
		for name, a := range cfg.Agents {
			edits = append(edits, AgentEdits(name, a)...)
		}
		for name, p := range cfg.Providers {
			edits = append(edits, Edit{[]string{"providers", name}, p})
		}
		for name, c := range cfg.Credentials {
			edits = append(edits, Edit{[]string{"credentials", name}, c})
		}
		out, cfg2, err := apply("c.yml", []byte(src), edits, envOf())
		if err != nil || string(out) != src || !reflect.DeepEqual(cfg, cfg2) {
			t.Errorf("got %v\n%s\nwant\n%s", err, out, src)
		}
	}
}
