package rest

import (
	"net/http"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
	"ionclaw-tray/server/guard"
)

// guards are the two doors. Both apply the Host and Origin rules whatever the MCP channel is set to: no web page of
// another site may drive the program.
type guards struct {
	token func(http.Handler) http.Handler // asks for the token
	open  func(http.Handler) http.Handler // asks for none
}

// methods are all the API has, for preflights of pages on this machine.
const methods = "GET, POST, PUT, PATCH, DELETE, OPTIONS"

func newGuards(cfg func() *config.Config, token string) guards {
	var accept []guard.Digest
	if token != "" {
		accept = []guard.Digest{guard.DigestOf(token)}
	}
	door := func(anonymous bool) func(http.Handler) http.Handler {
		policy := func() *guard.Policy {
			server := cfg().Server
			return &guard.Policy{
				Anonymous: anonymous, LocalOnly: true, Accept: accept,
				TrustedHosts: server.TrustedHosts, MaxBody: server.MaxBody,
			}
		}
		return guard.New(policy, deny,
			guard.Host(), guard.Origin(), guard.CORS(methods), guard.Bearer(), guard.JSONBody(), guard.MaxBody())
	}
	return guards{token: door(false), open: door(true)}
}

// denials gives what the guard refuses the codes of the API, and hints that fit it.
var denials = map[int]struct {
	code app.Code
	hint string // "": the guard's own
}{
	http.StatusUnauthorized:          {app.CodeUnauthorized, "Send the token of instance.json as \"Authorization: Bearer TOKEN\"; each run of the program makes a new one."},
	http.StatusForbidden:             {app.CodeForbidden, ""},
	http.StatusRequestEntityTooLarge: {app.CodeTooLarge, ""},
	http.StatusUnsupportedMediaType:  {app.CodeUnsupportedType, ""},
	http.StatusServiceUnavailable:    {app.CodeUnavailable, "Start the program again; it makes a token for each run."},
}

// originHint replaces one that speaks of the MCP endpoint.
const originHint = "The local API is for programs of this machine, not for web pages of other sites."

func deny(w http.ResponseWriter, r *http.Request, d *guard.Denial) {
	own, ok := denials[d.Status]
	if !ok {
		guard.DenyAPI(w, r, d)
		return
	}
	changed := *d
	if own.hint != "" {
		changed.Hint = own.hint
	}
	if d.Code == "forbidden_origin" {
		changed.Hint = originHint
	}
	changed.Code = string(own.code)
	guard.DenyAPI(w, r, &changed)
}
