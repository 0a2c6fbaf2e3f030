package guard

import (
	"net/http"
	"strings"
)

// Origin refuses requests that web pages of other sites make. A request
// without an Origin header passes: it does not come from a page. With auth on
// and LocalOnly off every origin passes, because the token is the access
// control and browser clients live on all kinds of origins.
// Sec-Fetch-* headers are ignored: they add nothing to Origin on the methods
// served here.
func Origin() Check {
	return func(x *Exchange) *Denial {
		origins := x.R.Header["Origin"]
		if len(origins) == 0 || !x.Policy.localOnly() {
			return nil
		}
		if len(origins) == 1 && isLocalOrigin(origins[0]) {
			return nil
		}
		return &Denial{
			Status: http.StatusForbidden,
			Code:   "forbidden_origin",
			Message: "The Origin header of this request names a web page that is not on this machine, " +
				"so it was refused.",
			Hint: "Pages on http://localhost and http://127.0.0.1 may call /mcp; " +
				"others may once channels.mcp.require_auth is on and they send the token.",
		}
	}
}

// isLocalOrigin accepts http and https origins on localhost, 127.0.0.1 or
// [::1]. The form is that of RFC 6454 section 6.1: scheme, host, optional
// port, and nothing else; so "null", file: and anything with a user name or
// a path are out.
func isLocalOrigin(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return false
	}
	host, _, ok := parseHost(rest)
	// Host tolerates a trailing dot, an origin has none: the page of
	// "localhost." is another site to a browser.
	return ok && isLoopbackName(host) && !strings.HasSuffix(rest, ".") && !strings.Contains(rest, ".:")
}

// Headers of cross-origin requests that the MCP transports use.
const (
	corsAllowHeaders = "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, " +
		"Last-Event-ID, Mcp-Method, Mcp-Name"
	corsExposeHeaders = "Mcp-Session-Id, MCP-Protocol-Version"
	// corsMaxAge is short (seconds) so that a change of require_auth reaches
	// browsers that keep preflight answers.
	corsMaxAge = "600"
)

// CORS reflects an origin that [Origin] let pass and answers OPTIONS with 204.
// It must stand after Origin, which makes preflight and POST agree.
//
// The library rs/cors does not fit: it lists only the headers that a preflight
// asked for and hands an OPTIONS that is no preflight on to the handler, where
// the contract promises the whole list and 204.
func CORS(methods string) Check {
	return func(x *Exchange) *Denial {
		h := x.W.Header()
		h.Add("Vary", "Origin")
		// Two Origin headers are no origin a browser sends; nothing to reflect.
		if o := x.R.Header["Origin"]; len(o) == 1 && o[0] != "" {
			h.Set("Access-Control-Allow-Origin", o[0])
			h.Set("Access-Control-Expose-Headers", corsExposeHeaders)
			if x.R.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", methods)
				h.Set("Access-Control-Allow-Headers", corsAllowHeaders)
				h.Set("Access-Control-Max-Age", corsMaxAge)
				// Chromium asks before a public page calls a loopback address.
				if x.R.Header.Get("Access-Control-Request-Private-Network") == "true" {
					h.Set("Access-Control-Allow-Private-Network", "true")
				}
			}
		}
		if x.R.Method == http.MethodOptions {
			h.Set("Allow", methods)
			x.W.WriteHeader(http.StatusNoContent)
			x.Done()
		}
		return nil
	}
}
