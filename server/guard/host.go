package guard

import (
	"net/http"
	"strings"
)

// Host refuses requests whose Host header names another machine, so that a
// web page cannot reach this server by pointing its own name at 127.0.0.1
// (DNS rebinding). Source: MCP 2025-11-25, basic/transports, security warning;
// CVE-2026-34742.
//
// Allowed are localhost, 127.0.0.1 and [::1] with any port, in any case, with
// a trailing dot, and the policy's TrustedHosts.
func Host() Check {
	return func(x *Exchange) *Denial {
		if !x.Policy.localOnly() {
			return nil
		}
		host, port, ok := parseHost(x.R.Host)
		if ok && (isLoopbackName(host) || isTrusted(x.Policy.TrustedHosts, host, port)) {
			return nil
		}
		return &Denial{
			Status: http.StatusForbidden,
			Code:   "forbidden_host",
			Message: "The Host header of this request does not name this machine, so it was refused: " +
				"a web page could otherwise use this server through a name of its own.",
			Hint: "Use http://127.0.0.1 with this server's port; if a reverse proxy of yours sends the name, " +
				"add it to server.trusted_hosts in config.yml.",
		}
	}
}

// isLoopbackName takes a host as parseHost returns it.
func isLoopbackName(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// isTrusted compares with the configured names. An entry without a port
// stands for every port; an entry that cannot be parsed stands for nothing.
func isTrusted(trusted []string, host, port string) bool {
	for _, entry := range trusted {
		if h, p, ok := parseHost(entry); ok && h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// parseHost splits a Host header into a lower-case host, without brackets and
// without one trailing dot, and a port ("" if none). It is strict: what it does
// not understand completely is not ok.
func parseHost(s string) (host, port string, ok bool) {
	if len(s) > maxHostLen {
		return "", "", false
	}
	if rest, bracketed := strings.CutPrefix(s, "["); bracketed {
		host, rest, ok = strings.Cut(rest, "]")
		if !ok || !strings.Contains(host, ":") || !onlyBytes(host, "0123456789abcdefABCDEF:.") {
			return "", "", false
		}
		if rest == "" {
			return strings.ToLower(host), "", true
		}
		port, ok = strings.CutPrefix(rest, ":")
		return strings.ToLower(host), port, ok && isPort(port)
	}
	host, port, hasPort := strings.Cut(s, ":")
	if hasPort && !isPort(port) {
		return "", "", false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.HasSuffix(host, ".") || strings.HasPrefix(host, ".") ||
		!onlyBytes(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") {
		return "", "", false
	}
	return host, port, true
}

// maxHostLen is the longest DNS name (253) with a trailing dot and a port.
const maxHostLen = 253 + 1 + 6

// isPort accepts 1…65535 in decimal digits.
func isPort(s string) bool {
	if s == "" || len(s) > 5 || !onlyBytes(s, "0123456789") {
		return false
	}
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n >= 1 && n <= 65535
}

func onlyBytes(s, allowed string) bool {
	for i := range len(s) {
		if strings.IndexByte(allowed, s[i]) < 0 {
			return false
		}
	}
	return true
}
