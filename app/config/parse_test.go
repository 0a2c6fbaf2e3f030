package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/assets"
)

func envOf(pairs ...string) lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

const full = `server: {host: 127.0.0.1, port: 8081, max_body: 2MiB, trusted_hosts: [box.example.org, "10.0.0.7:80"]}
channels: {mcp: {enabled: true, require_auth: true, credential: mcp_token, session_ttl: 1h30m, max_sessions: 5, progress_without_token: false, rotation_grace: 0s}}
credentials:
  mcp_token: {type: simple}
  anthropic:
providers:
  anthropic: {credential: anthropic}
  ollama: {base_url: http://127.0.0.1:11434/v1}
  llama: {base_url: "http://${HOST:-127.0.0.1}:8081/v1"}
  own: {base_url: https://models.example.org, type: anthropic}
classifier: {model: groq/small}
agents_runtime: {max_parallel: 2}
agents:
  main:
    description: General-purpose assistant
    model: anthropic/claude-sonnet-4-20250514
    instructions: |
      Be kind to ${WHO}.
      Price: $5, $${WHO}.
    tools: [mcp_client]
    max_iterations: 4
    max_history: 10
    params: {temperature: 0.7, top_p: 1, max_tokens: 4096}
    fallbacks: [ollama/llama3.2, openrouter/meta/llama]
  bare:
`

func TestParseFull(t *testing.T) {
	got, err := parseWith("config.yml", []byte(full), envOf("WHO", "all"))
	if err != nil {
		t.Fatalf("got error %v", err)
	}
	temperature, topP := 0.7, 1.0
	want := &Config{
		Server:      Server{"127.0.0.1", 8081, 2 << 20, []string{"box.example.org", "10.0.0.7:80"}},
		Channels:    Channels{MCP{Enabled: true, RequireAuth: true, Credential: "mcp_token", SessionTTL: 90 * time.Minute, MaxSessions: 5}},
		Credentials: map[string]Credential{"mcp_token": {"simple"}, "anthropic": {"simple"}},
		Providers: map[string]Provider{
			"anthropic": {Credential: "anthropic"}, "ollama": {BaseURL: "http://127.0.0.1:11434/v1"},
			"llama": {BaseURL: "http://127.0.0.1:8081/v1"}, "own": {BaseURL: "https://models.example.org", Type: "anthropic"},
		},
		Classifier: Classifier{"groq/small"}, AgentsRuntime: AgentsRuntime{2},
		Agents: map[string]Agent{
			"main": {
				"General-purpose assistant", "anthropic/claude-sonnet-4-20250514", "Be kind to all.\nPrice: $5, ${WHO}.\n",
				[]string{"mcp_client"}, 4, 10, Params{&temperature, &topP, 4096}, []string{"ollama/llama3.2", "openrouter/meta/llama"},
			},
			"bare": defaultAgent(),
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseDefaults(t *testing.T) {
	for _, src := range []string{"", "\n# nothing\n", "---\n", "agents:\n", "agents: {}\nchannels:\n", "server: {}", "\ufeff# mark\r\nserver:\r\n", "agents: {main: {model: }}"} {
		got, err := Parse("config.yml", []byte(src))
		if err != nil || !reflect.DeepEqual(got, Default()) {
			t.Errorf("%q: got %+v, %v, want the defaults", src, got, err)
		}
	}
	d := Default()
	if d.Channels.MCP != (MCP{SessionTTL: 24 * time.Hour, MaxSessions: 1000, ProgressWithoutToken: true, RotationGrace: time.Minute}) || d.Agents["main"].Model != "builtin/offline" {
		t.Errorf("got %+v", d)
	}
}

func TestStarter(t *testing.T) {
	got, err := Parse("config.yml", assets.StarterConfig)
	if err != nil {
		t.Fatalf("the starter file is not valid: %v", err)
	}
	if m := got.Channels.MCP; !m.Enabled || m.RequireAuth || m.Credential != "" || got.Agents["main"].Model != DefaultModel || len(got.Agents) != 1 {
		t.Errorf("got %+v", got)
	}
	// What it shows in comments is valid too.
	shown := regexp.MustCompile(`(?m)^( *)# ((?:  )?[a-z_]+:.*)$`).ReplaceAllStringFunc(string(assets.StarterConfig), func(line string) string {
		if strings.Contains(line, "#   model:") {
			return line
		}
		return strings.Replace(line, "# ", "", 1)
	})
	got, err = Parse("config.yml", []byte(shown))
	if err != nil {
		t.Fatalf("uncommented: %v\n%s", err, shown)
	}
	if !got.Channels.MCP.RequireAuth || got.Channels.MCP.Credential != "mcp_token" || got.Providers["anthropic"].Credential != "anthropic" || got.Agents["main"].Params.MaxTokens != 4096 || len(got.Agents["main"].Fallbacks) != 1 {
		t.Errorf("uncommented: got %+v", got)
	}
}

func TestParseProblems(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"server: {host: 0.0.0.0}", `1:16: server.host is "0.0.0.0", but the server may listen on loopback only; write 127.0.0.1`},
		{"server: {host: example.org}", "1:16: server.host is"},
		{"server: {port: 70000}", "1:16: server.port must be between 0 and 65535, not 70000"},
		{"server: {port: \"80\"}", "1:16: server.port must be a whole number, not \"80\"; write digits without quotes"},
		{"server: {port: eighty}", "1:16: server.port must be a whole number"},
		{"server: {port: 8.5}", "1:16: server.port must be a whole number"},
		{"server: {port: 99999999999999999999}", "1:16: server.port must be"},
		{"server: {port: [80]}", "1:16: server.port must be a single value, not a list"},
		{"server: {prot: 80}", `1:10: the key "prot" is unknown in server; did you mean "port"?`},
		{"server: {zzzzzzzz: 80}", `1:10: the key "zzzzzzzz" is unknown in server; the nearest known one is `},
		{"mesh: {}", `1:1: the key "mesh" is unknown in the file; `},
		{"server:\n  port: 1\n  port: 2\n", `3:3: the key "port" is given twice; it is first given in line 2`},
		{"server: 5", "1:9: server must be a mapping, not a number"},
		{"- a", "1:1: the file must be a mapping, not a list"},
		{"just text", "1:1: the file must be a mapping, not the text"},
		{"server: {max_body: 10}", "1:20: server.max_body must be between 1KiB and 1GiB, not 10"},
		{"server: {max_body: ten}", "1:20: server.max_body must be a size, not \"ten\"; write a number with a unit"},
		{"server: {trusted_hosts: a}", "1:25: server.trusted_hosts must be a list, not the text \"a\"; write it as [one, two]"},
		{"server: {trusted_hosts: ['https://a']}", "1:26: \"https://a\" in server.trusted_hosts is not a host name"},
		{"server: {trusted_hosts: ['*']}", "1:26: "},
		{"channels: {mcp: {enabled: yes}}", "1:27: channels.mcp.enabled must be true or false, not \"yes\""},
		{"channels: {mcp: {session_ttl: 24}}", "1:31: channels.mcp.session_ttl must be a duration, not \"24\"; write a number with a unit"},
		{"channels: {mcp: {session_ttl: 1ms}}", "1:31: channels.mcp.session_ttl must be between 1s and 8760h, not 1ms"},
		{"channels: {mcp: {credential: tok}}", `1:30: channels.mcp.credential names the credential "tok", which is not defined; add "tok: {type: simple}" under "credentials"`},
		{"credentials: {token: }\nchannels: {mcp: {credential: tokne}}", `2:30: channels.mcp.credential names the credential "tokne", which is not defined; did you mean "token"?, or add`},
		{"credentials: {a b: {}}", `1:15: the credential name "a b" is not allowed; use 1 to 64 characters`},
		{"credentials: {a: {type: bearer}}", `1:25: credentials.a.type cannot be "bearer"`},
		{"providers: {own: {}}", `1:13: the provider "own" is not built in and has no base_url`},
		{"providers: {llama: {}}", `1:13: the provider "llama" needs a base_url`},
		{"providers: {builtin: {base_url: http://h}}", `1:13: the provider "builtin" cannot be configured`},
		{"providers: {own: {base_url: ftp://h}}", "1:29: providers.own.base_url is not a web address"},
		{"providers: {own: {base_url: https://u:geheim@h}}", "1:29: providers.own.base_url holds a user or password"},
		{"providers: {own: {base_url: https://h, type: grpc}}", `1:46: providers.own.type cannot be "grpc"`},
		{"agents: {main: {model: nothing}}", `1:24: agents.main.model is "nothing" and names no provider`},
		{"agents: {main: {model: antropic/x}}", `1:24: agents.main.model names the provider "antropic", which is neither built in nor configured; did you mean "anthropic"?, or add it`},
		{"agents: {main: {model: llama/x}}", `1:24: agents.main.model names the provider "llama", which needs a base_url`},
		{"agents: {main: {model: builtin/gpt}}", `1:24: agents.main.model names "builtin/gpt", which is not a built-in model`},
		{"agents: {main: {fallbacks: [ollama/x, foo/y]}}", `1:39: agents.main.fallbacks names the provider "foo"`},
		{"agents: {main: {description: 42}}", `1:30: agents.main.description must be text, not a number; put it in quotes: "42"`},
		{"agents: {main: {tools: chat}}", "1:24: agents.main.tools must be a list"},
		{"agents: {main: {tools: [a b]}}", `1:25: "a b" in agents.main.tools is not a tool name`},
		{"agents: {main: {max_iterations: 0}}", "1:33: agents.main.max_iterations must be between 1 and 1000, not 0"},
		{"agents: {main: {params: {temperature: .nan}}}", "1:39: agents.main.params.temperature must be"},
		{"agents: {main: {params: {temperature: 3}}}", "1:39: agents.main.params.temperature must be between 0 and 2, not 3"},
		{"agents: {a.b: {}}", `1:10: the agent name "a.b" is not allowed`},
		{"agents: {main: {instructions: !secret x}}", "1:31: agents.main.instructions must be a single value, not a value of the type !secret"},
		{"agents: {? [a] : x}", "1:12: a key of agents must be a name, not a list"},
		{"agents: {main: {model: '${NO_SUCH}'}}", "1:24: agents.main.model: the environment variable NO_SUCH is not set; set it, give a default with ${NO_SUCH:-default}"},
		{"agents: {main: {description: '${a-b}'}}", `1:30: agents.main.description: "${a-b}" is not a reference`},
		{"agents: {main: {description: 'x ${A'}}", `1:30: agents.main.description: "${A" is not a reference`},
		{"a: &a [*a]", "1:1: the key \"a\" is unknown"},
		{"agents: &a {x: *a}", "1:13: the key \"x\" is unknown in agents.x"},
		{"server:\n  host: a\n\tport: 1\n", "3:1: a tab is used as indentation; indent with spaces"},
		{"server:\n  host: a: b\n", "2:9: mapping value is not allowed in this context"},
		{"server:\n  host: \"abc\n  port: 1\n", "2:9: could not find end character of double-quoted text; close the quotation mark"},
		{"server:\n  host: a\n port: 1\n", "3:2: "},
		{"agents: {main: {tools: *}}", `1:24: a bare * is not text; put it in quotes: "*"`},
		{"agents: *nobody", "1:9: the alias *nobody stands for nothing"},
		{"a: 1\n---\nb: 1\n", "2:1: the file holds a second YAML document"},
		{"a: b\xff", "1:5: a byte is not UTF-8"},
		{"ä: \x01", "1:4: the control character U+0001 is not allowed"},
		{"\xff\xfea\x00", "1:1: the file is not UTF-8 but UTF-16"},
		{strings.Repeat("#", MaxFile+1), ": the file is larger than 1024 KiB"},
	} {
		_, err := parseWith("config.yml", []byte(c.src), envOf())
		if err == nil {
			t.Errorf("%.60q: got no error, want %s", c.src, c.want)
			continue
		}
		var e *Error
		if !errors.Is(err, ErrInvalid) || !errors.As(err, &e) {
			t.Errorf("%.60q: %v is not ErrInvalid or holds no *Error", c.src, err)
		}
		if got := strings.TrimPrefix(err.Error(), "config.yml:"); !strings.HasPrefix(got, strings.TrimPrefix(c.want, ":")) {
			t.Errorf("%.60q:\ngot  %s\nwant %s", c.src, got, c.want)
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error repeats a password: %v", err)
		}
	}
}

func TestParseReportsAllInOrder(t *testing.T) {
	_, err := Parse("c.yml", []byte("server:\n  prot: 1\n  host: 0.0.0.0\nagents:\n  main: {model: foo/x}\n  b: {max_history: x}\n"))
	var list Errors
	if !errors.As(err, &list) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%d:%d", e.Line, e.Column))
	}
	if want := []string{"2:3", "3:9", "5:17", "6:20"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v: %v", got, want, err)
	}
}

func TestParseBoundsProblems(t *testing.T) {
	var b strings.Builder
	for i := range MaxProblems + 20 {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	_, err := Parse("c.yml", []byte(b.String()))
	var list Errors
	if !errors.As(err, &list) || len(list) != MaxProblems+1 || list[MaxProblems].Message != "and 20 more problems" {
		t.Errorf("got %d problems, last %v", len(list), list[len(list)-1])
	}
}

func TestParseMergesAndAliases(t *testing.T) {
	src := "agents:\n  base: &base {model: ollama/a, max_history: 7, params: &p {max_tokens: 5}}\n  two: {<<: *base, model: ollama/b}\n  three:\n    <<: [{max_history: 9}, *base]\n    params: *p\n"
	got, err := Parse("c.yml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if a := got.Agents["two"]; a.Model != "ollama/b" || a.MaxHistory != 7 || a.Params.MaxTokens != 5 {
		t.Errorf("two: got %+v", a)
	}
	if a := got.Agents["three"]; a.Model != "ollama/a" || a.MaxHistory != 9 || a.Params.MaxTokens != 5 {
		t.Errorf("three: got %+v", a)
	}
	// Nested merges that double at each level stay cheap.
	var b strings.Builder
	b.WriteString("agents:\n  a0: &a0 {max_history: 1}\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	if got, err = Parse("c.yml", []byte(b.String())); err != nil || got.Agents["a59"].MaxHistory != 1 {
		t.Errorf("got %v", err)
	}
}

func TestExpand(t *testing.T) {
	env := envOf("A", "one", "E", "", "R", "${A}")
	for _, c := range []struct{ in, want, err string }{
		{"plain $ $$ $A {A}", "plain $ $$ $A {A}", ""},
		{"${A}-${A}", "one-one", ""},
		{"${E}|${E:-x}|${N:-y z}|${N:-}|${A:-n}", "|x|y z||one", ""},
		{"$${A} $$${A} $${${A}", "${A} $${A} ${one", ""},
		{"${R}", "${A}", ""},
		{"${N}", "", "the environment variable N is not set"},
		{"${1A}", "", `"${1A}" is not a reference`},
		{"${}", "", `"${}" is not`},
		{"${A", "", `"${A" is not`},
		{"${N:-${A}}", "", `is not a reference`},
	} {
		got, _, err := expand(c.in, env)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %q, %v, want %q, %s", c.in, got, err, c.want, c.err)
		}
	}
	for _, s := range []string{"${A}", "$${A}", "$$$${", "a${b$${c", "$", "${"} {
		if got, _, err := expand(escape(s), env); err != nil || got != s {
			t.Errorf("escaping %q: got %q, %v", s, got, err)
		}
	}
}

func TestExpandedTypes(t *testing.T) {
	src := "server: {port: \"${PORT}\"}\nchannels:\n  mcp:\n    enabled: ${ON}\n    session_ttl: ${TTL:-2h}\nagents: {main: {description: \"${PORT}\"}}\n"
	got, err := parseWith("c.yml", []byte(src), envOf("PORT", "81", "ON", "true"))
	if err != nil || got.Server.Port != 81 || !got.Channels.MCP.Enabled || got.Channels.MCP.SessionTTL != 2*time.Hour || got.Agents["main"].Description != "81" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = parseWith("c.yml", []byte(src), envOf("PORT", "hush-hush", "ON", "hush-hush", "TTL", "hush-hush"))
	if err == nil || strings.Contains(err.Error(), "hush") || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three problems that do not repeat the values", err)
	}
	_, err = parseWith("c.yml", []byte("agents: {a: {model: \"${M}\"}, b: {model: \"${M}/x\", tools: [\"${M}\"]}}\nserver: {host: \"${M}\", trusted_hosts: [\"${M}\"]}\nproviders: {p: {base_url: \"${M}\", credential: \"${M}\"}}"), envOf("M", "hush hush/é"))
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v, want problems that do not repeat the values", err)
	}
}

func TestProviders(t *testing.T) {
	cfg, err := Parse("c.yml", []byte("providers: {openai: {base_url: 'http://127.0.0.1:1/v1'}, own: {base_url: 'http://h'}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want Provider
		ok   bool
	}{
		{"openai", Provider{BaseURL: "http://127.0.0.1:1/v1", Type: StyleOpenAI}, true},
		{"anthropic", Provider{BaseURL: "https://api.anthropic.com", Type: StyleAnthropic}, true},
		{"own", Provider{BaseURL: "http://h", Type: StyleOpenAI}, true},
		{"builtin", Provider{Type: StyleBuiltin}, true},
		{"none", Provider{Type: StyleOpenAI}, false},
	} {
		if got, ok := cfg.Provider(c.name); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
	for name, p := range BuiltinProviders {
		if !providerName.pattern.MatchString(name) || p.BaseURL == "" && name != "llama" && name != "builtin" {
			t.Errorf("%s: %+v", name, p)
		}
		if _, err := Parse("c.yml", []byte("agents: {main: {model: "+name+"/offline}}")); (err == nil) != (name != "llama") {
			t.Errorf("%s without an entry: got %v", name, err)
		}
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int64{"10MiB": 10 << 20, "64 kB": 64000, "1GiB": 1 << 30, "2048": 2048, "1_000b": 1000, "5kib": 5120} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "-1", "1.5MiB", "1TiB", "9223372036854775807KiB", "1e3"} {
		if got, err := parseSize(s); err == nil {
			t.Errorf("%q: got %d, want an error", s, got)
		}
	}
	for d, want := range map[time.Duration]string{24 * time.Hour: "24h", 90 * time.Second: "1m30s", time.Minute: "1m", 0: "0s", 3*time.Hour + 4*time.Second: "3h0m4s", 20 * time.Minute: "20m"} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", int64(d), got, want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true, "[::1]": true, "0.0.0.0": false, "::": false, "": false, "192.168.1.1": false, "example.org": false, "::1%lo": false, "localhost.evil.org": false} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
