package config

import (
	"maps"
	"os"
	"slices"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// Limits of values in the file.
const (
	MaxPort        = 65535
	MinBody        = 1 << 10 // bytes
	MaxBody        = 1 << 30 // bytes
	MinSessionTTL  = time.Second
	MaxSessionTTL  = 365 * 24 * time.Hour
	MaxSessions    = 1_000_000
	MaxGrace       = 24 * time.Hour
	MaxParallel    = 256
	MaxIterations  = 1000
	MaxHistory     = 10_000
	MaxTokens      = 10_000_000
	MaxTemperature = 2
)

// Parse reads a configuration and expands ${VAR} from the environment. name stands for the file in messages. The error
// is Errors with every problem found.
func Parse(name string, data []byte) (*Config, error) { return parseWith(name, data, os.LookupEnv) }

func parseWith(name string, data []byte, env lookup) (*Config, error) {
	d, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	cfg := Default()
	r := &schema{reader: reader{problems: problems{file: name}, env: env}, cfg: cfg}
	if d.root != nil {
		r.top(d.root)
		r.checkReferences()
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// schema reads the keys of the file into a Config. References to names that may come later in the text are kept until
// everything has been read.
type schema struct {
	reader
	cfg         *Config
	credentials map[string]bool // names as written, valid or not
	providers   map[string]bool
	uses        []use // of credentials
	models      []use
}

// use is a place that names something defined elsewhere.
type use struct {
	node *yaml.Node
	what string // the key, for messages
	name string
}

func (r *schema) top(n *yaml.Node) {
	c := r.cfg
	r.fields(n, "the file", map[string]field{
		"server":         r.server,
		"channels":       r.section("channels", map[string]field{"mcp": r.mcp}),
		"credentials":    r.credentialList,
		"providers":      r.providerList,
		"classifier":     r.section("classifier", map[string]field{"model": r.model("classifier.model", &c.Classifier.Model)}),
		"agents_runtime": r.section("agents_runtime", map[string]field{"max_parallel": r.int("agents_runtime.max_parallel", 1, MaxParallel, &c.AgentsRuntime.MaxParallel)}),
		"agents":         r.agentList,
	})
}

func (r *schema) section(where string, known map[string]field) field {
	return func(n *yaml.Node) { r.fields(n, where, known) }
}

func (r *schema) server(n *yaml.Node) {
	s := &r.cfg.Server
	r.fields(n, "server", map[string]field{
		"host":          r.host(&s.Host),
		"port":          r.int("server.port", 0, MaxPort, &s.Port),
		"max_body":      r.size("server.max_body", MinBody, MaxBody, &s.MaxBody),
		"trusted_hosts": r.strings("server.trusted_hosts", &s.TrustedHosts, r.checkTrustedHost),
	})
}

func (r *schema) mcp(n *yaml.Node) {
	m := &r.cfg.Channels.MCP
	r.fields(n, "channels.mcp", map[string]field{
		"enabled":                r.bool("channels.mcp.enabled", &m.Enabled),
		"require_auth":           r.bool("channels.mcp.require_auth", &m.RequireAuth),
		"credential":             r.credential("channels.mcp.credential", &m.Credential),
		"session_ttl":            r.duration("channels.mcp.session_ttl", MinSessionTTL, MaxSessionTTL, &m.SessionTTL),
		"max_sessions":           r.int("channels.mcp.max_sessions", 1, MaxSessions, &m.MaxSessions),
		"progress_without_token": r.bool("channels.mcp.progress_without_token", &m.ProgressWithoutToken),
		"rotation_grace":         r.duration("channels.mcp.rotation_grace", 0, MaxGrace, &m.RotationGrace),
	})
}

func (r *schema) credentialList(n *yaml.Node) {
	r.credentials = map[string]bool{}
	for _, p := range r.pairs(n, "credentials") {
		name, c := p.key.Value, Credential{Type: CredentialSimple}
		r.credentials[name] = true
		r.checkName(p.key, "credential", credentialName)
		if !isNull(resolve(p.value)) {
			where := "credentials." + name
			r.fields(p.value, where, map[string]field{"type": r.choice(where+".type", &c.Type, CredentialSimple)})
		}
		r.cfg.Credentials[name] = c
	}
}

func (r *schema) providerList(n *yaml.Node) {
	r.providers = map[string]bool{}
	for _, p := range r.pairs(n, "providers") {
		name, where := p.key.Value, "providers."+p.key.Value
		r.providers[name] = true
		r.checkName(p.key, "provider", providerName)
		var v Provider
		valid := true
		if !isNull(resolve(p.value)) {
			before := len(r.list)
			r.fields(p.value, where, map[string]field{
				"credential": r.credential(where+".credential", &v.Credential),
				"base_url":   r.baseURL(where+".base_url", &v.BaseURL),
				"type":       r.choice(where+".type", &v.Type, StyleOpenAI, StyleAnthropic),
			})
			valid = len(r.list) == before
		}
		r.cfg.Providers[name] = v
		if valid {
			r.checkProvider(p.key, v)
		}
	}
}

func (r *schema) agentList(n *yaml.Node) {
	agents := map[string]Agent{}
	for _, p := range r.pairs(n, "agents") {
		r.checkName(p.key, "agent", agentName)
		a := defaultAgent()
		if !isNull(resolve(p.value)) {
			r.agent(p.value, "agents."+p.key.Value, &a)
		}
		agents[p.key.Value] = a
	}
	if len(agents) > 0 {
		r.cfg.Agents = agents
	}
}

func (r *schema) agent(n *yaml.Node, where string, a *Agent) {
	r.fields(n, where, map[string]field{
		"description":    r.string(where+".description", &a.Description),
		"model":          r.model(where+".model", &a.Model),
		"instructions":   r.string(where+".instructions", &a.Instructions),
		"tools":          r.tools(where+".tools", &a.Tools),
		"max_iterations": r.int(where+".max_iterations", 1, MaxIterations, &a.MaxIterations),
		"max_history":    r.int(where+".max_history", 1, MaxHistory, &a.MaxHistory),
		"params": r.section(where+".params", map[string]field{
			"temperature": r.float(where+".params.temperature", 0, MaxTemperature, &a.Params.Temperature),
			"top_p":       r.float(where+".params.top_p", 0, 1, &a.Params.TopP),
			"max_tokens":  r.int(where+".params.max_tokens", 1, MaxTokens, &a.Params.MaxTokens),
		}),
		"fallbacks": r.strings(where+".fallbacks", &a.Fallbacks, func(n *yaml.Node, s string) {
			r.checkModel(n, where+".fallbacks", s)
		}),
	})
	if a.Model == "" {
		a.Model = DefaultModel
	}
}

// known lists the names a model may begin with.
func (r *schema) known() []string {
	names := slices.Collect(maps.Keys(BuiltinProviders))
	for name := range r.providers {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
