package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// MaxName bounds the length of names of agents, credentials and providers.
const MaxName = 64

// name is a rule for names, as a pattern and in words.
type name struct {
	pattern *regexp.Regexp
	words   string
}

var (
	agentName      = name{regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), "letters, digits, _ and -"}
	credentialName = name{regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`), "letters, digits, _, . and -"}
	providerName   = credentialName
	toolName       = regexp.MustCompile(`^(\*|[A-Za-z0-9_-]{1,64}(/(\*|[A-Za-z0-9_-]{1,64}))?)$`)
	hostName       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?$`)
)

// ValidCredentialName reports whether a credential may have that name.
func ValidCredentialName(s string) bool { return credentialName.pattern.MatchString(s) }

func (r *schema) checkName(key *yaml.Node, what string, rule name) {
	if !rule.pattern.MatchString(key.Value) {
		r.problem(key, fmt.Sprintf("use 1 to %d characters: %s", MaxName, rule.words), "the %s name %q is not allowed", what, shorten(key.Value))
	}
}

// choice reads one of a few words.
func (r *schema) choice(what string, into *string, words ...string) field {
	return func(n *yaml.Node) {
		s, ok := r.text(n, what)
		if !ok {
			return
		}
		if !slices.Contains(words, s) {
			r.problem(n, nearest(s, words), "%s cannot be %q", what, shorten(resolve(n).Value))
			return
		}
		*into = s
	}
}

func (r *schema) host(into *string) field {
	return func(n *yaml.Node) {
		s, ok := r.text(n, "server.host")
		if !ok {
			return
		}
		if !IsLoopback(s) {
			r.problem(n, "write 127.0.0.1 or leave it out; machines elsewhere get in through a tunnel of yours, such as ssh -L",
				"server.host is %q, but the server may listen on loopback only", shorten(resolve(n).Value))
			return
		}
		*into = strings.Trim(s, "[]")
	}
}

// IsLoopback reports whether server.host may have that value.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
}

func (r *schema) checkTrustedHost(n *yaml.Node, s string) {
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil && strings.Trim(port, "0123456789") == "" {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && !hostName.MatchString(host) {
		r.problem(n, "write the bare name that stands in the address, such as box.example.org, without scheme, path or wildcard",
			"%q in server.trusted_hosts is not a host name", shorten(resolve(n).Value))
	}
}

func (r *schema) baseURL(what string, into *string) field {
	return func(n *yaml.Node) {
		s, ok := r.text(n, what)
		if !ok || s == "" {
			return
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			r.problem(n, "write it as http://127.0.0.1:8081/v1 or https://host/path", "%s is not a web address", what)
		case u.User != nil:
			r.problem(n, `put the key in a credential and name it in "credential"`, "%s holds a user or password", what)
		case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
			r.problem(n, "leave out what follows ? or #", "%s holds a query or fragment", what)
		default:
			*into = s
		}
	}
}

// tools reads a list of tool names. The word "*" may stand alone.
func (r *schema) tools(what string, into *[]string) field {
	list := r.strings(what, into, func(n *yaml.Node, s string) {
		if !toolName.MatchString(s) {
			r.problem(n, `write the tool's name, or "*" for all`, "%q in %s is not a tool name", shorten(resolve(n).Value), what)
		}
	})
	return func(n *yaml.Node) {
		if m := resolve(n); m != nil && m.Kind == yaml.ScalarNode && m.Value == "*" {
			*into = []string{"*"}
			return
		}
		list(n)
	}
}

func (r *schema) credential(what string, into *string) field {
	return func(n *yaml.Node) {
		if s, ok := r.text(n, what); ok && s != "" {
			*into = s
			r.uses = append(r.uses, use{n, what, s})
		}
	}
}

func (r *schema) model(what string, into *string) field {
	return func(n *yaml.Node) {
		if s, ok := r.text(n, what); ok && s != "" {
			*into = s
			r.checkModel(n, what, s)
		}
	}
}

// checkModel looks at the form at once and at the provider when all providers are known.
func (r *schema) checkModel(n *yaml.Node, what, model string) {
	provider, model, ok := SplitModel(model)
	switch {
	case !ok:
		r.problem(n, "write provider/name, such as anthropic/claude-sonnet-4-20250514 or "+DefaultModel, "%s is %q and names no provider", what, shorten(resolve(n).Value))
	case provider == "builtin" && model != "offline":
		r.problem(n, "the only one is "+DefaultModel, "%s names %q, which is not a built-in model", what, shorten(resolve(n).Value))
	default:
		r.models = append(r.models, use{n, what, provider})
	}
}

func (r *schema) checkProvider(key *yaml.Node, p Provider) {
	known, builtin := BuiltinProviders[key.Value]
	switch {
	case known.Style == StyleBuiltin:
		r.problem(key, "remove it; the model "+DefaultModel+" needs no entry", "the provider %q cannot be configured", key.Value)
	case p.BaseURL == "" && known.BaseURL == "" && builtin:
		r.problem(key, "add base_url, such as http://127.0.0.1:8081/v1", "the provider %q needs a base_url", key.Value)
	case p.BaseURL == "" && known.BaseURL == "":
		r.problem(key, "add base_url, or use a built-in name; "+nearest(key.Value, builtinNames()), "the provider %q is not built in and has no base_url", key.Value)
	}
}

func builtinNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(BuiltinProviders)), func(n string) bool { return n == "builtin" })
}

func (r *schema) checkReferences() {
	for _, u := range r.uses {
		if !r.credentials[u.name] {
			r.problem(u.node, r.credentialHint(u), "%s names the credential %q, which is not defined", u.what, shorten(resolve(u.node).Value))
		}
	}
	for _, u := range r.models {
		known, builtin := BuiltinProviders[u.name]
		switch {
		case r.providers[u.name]:
		case !builtin:
			r.problem(u.node, nearest(u.name, r.known())+`, or add it under "providers" with a base_url`,
				"%s names the provider %q, which is neither built in nor configured", u.what, r.providerShown(u))
		case known.BaseURL == "" && known.Style != StyleBuiltin:
			r.problem(u.node, fmt.Sprintf(`add "%s: {base_url: http://127.0.0.1:8081/v1}" under "providers"`, u.name),
				"%s names the provider %q, which needs a base_url", u.what, u.name)
		}
	}
}

// providerShown is the provider of a model without values of the environment.
func (r *schema) providerShown(u use) string {
	provider, _, _ := strings.Cut(resolve(u.node).Value, "/")
	return shorten(provider)
}

func (r *schema) credentialHint(u use) string {
	add := `add it under "credentials"`
	if raw := resolve(u.node).Value; raw == u.name && credentialName.pattern.MatchString(raw) {
		add = fmt.Sprintf(`add "%s: {type: %s}" under "credentials"`, raw, CredentialSimple)
	}
	if len(r.credentials) == 0 {
		return add
	}
	return nearest(u.name, slices.Sorted(maps.Keys(r.credentials))) + ", or " + add
}
