package command

import (
	"fmt"
	"strings"

	"ionclaw-tray/app"
	"ionclaw-tray/server"
)

// tokenVariable is the environment variable by which client snippets refer to the token.
const tokenVariable = "IONCLAW_TOKEN"

// readyAnswer is what "serve --json" prints once.
type readyAnswer struct {
	URL         string    `json:"url"`
	Running     bool      `json:"running"` // the MCP channel
	RequireAuth bool      `json:"require_auth"`
	Credential  string    `json:"credential"`
	Paths       app.Paths `json:"paths"`
	Warnings    []string  `json:"warnings"`
	Problem     string    `json:"problem"` // why the MCP channel is not running
}

// ready tells how to use what now runs.
func (o *serveOptions) ready(r server.Ready) {
	o.print(readyAnswer{
		URL: r.URL, Running: r.Running, RequireAuth: r.RequireAuth, Credential: r.Credential,
		Paths: r.Paths, Warnings: append([]string{}, r.Warnings...), Problem: r.Problem,
	}, func() { o.printf("%s", o.welcome(r)) })
}

func (o *serveOptions) welcome(r server.Ready) string {
	var b strings.Builder
	self := o.self()
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	line("IonClaw %s is running.", o.Version)
	line("")
	line("  MCP endpoint   %s", r.URL)
	line("  Channel        %s", channelWords(r.Running, r.Problem, self))
	line("  Access         %s", accessWords(r.RequireAuth, r.Credential))
	line("  Configuration  %s", r.Paths.Config)
	line("  Data           %s", r.Paths.Data)
	line("  Log            %s", r.Paths.Log)
	for _, w := range r.Warnings {
		line("")
		line("Warning: %s", w)
	}
	line("")
	line("Connect Claude Code:")
	header := ""
	if r.RequireAuth {
		// Single quotes keep the reference: the client reads the variable, its file holds no secret.
		header = ` --header 'Authorization: Bearer ${` + tokenVariable + `}'`
	}
	line("  claude mcp add --transport http --scope user ionclaw %s%s", r.URL, header)
	line("Any other client, in its mcp.json:")
	line("  %s", mcpEntry(r.URL, r.RequireAuth))
	if r.RequireAuth && r.Credential != "" {
		line("with the token in the environment of the client:")
		line(`  export %s="$(%s credential show --reveal %s)"`, tokenVariable, self, shellQuote(r.Credential))
	}
	line("")
	line(`Chat from a terminal:  %s chat "Hello"`, self)
	line("Stop with Ctrl-C.")
	return cleanText(b.String())
}

func mcpEntry(url string, auth bool) string {
	headers := ""
	if auth {
		headers = `, "headers": {"Authorization": "Bearer ${` + tokenVariable + `}"}`
	}
	return fmt.Sprintf(`{"mcpServers": {"ionclaw": {"type": "http", "url": %q%s}}}`, url, headers)
}

// channelWords says how the MCP channel is and what to do about it.
func channelWords(running bool, problem, self string) string {
	switch {
	case running:
		return "running"
	case problem != "":
		return "stopped: " + problem
	default:
		return fmt.Sprintf("stopped; open it with: %s start", self)
	}
}

// accessWords says who may use the MCP endpoint.
func accessWords(auth bool, credential string) string {
	switch {
	case !auth:
		return "no token needed: every program on this computer may use it (channels.mcp.require_auth is off)"
	case credential == "":
		return "a token is required, but channels.mcp.credential names none"
	default:
		return fmt.Sprintf("the token of credential %q is required", credential)
	}
}
