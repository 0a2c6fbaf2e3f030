package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ionclaw-tray/app"
)

func TestMistakesInTheArguments(t *testing.T) {
	for _, tt := range []struct {
		args    string
		message string
		hint    string
	}{
		{"nonsense", `there is no command "ionclaw nonsense"`, `see "ionclaw --help"`},
		{"serv", `there is no command "ionclaw serv"`, `did you mean "ionclaw serve"?`},
		{"sessions lst", `there is no command "ionclaw sessions lst"`, `did you mean "ionclaw sessions list"?`},
		{"status --nonsense", "unknown flag: --nonsense", `see "ionclaw status --help"`},
		{"--nonsense", "unknown flag: --nonsense", `see "ionclaw --help"`},
		{"sessions show", "KEY is missing", `see "ionclaw sessions show --help"`},
		{"sessions rename x", "NAME is missing", `see "ionclaw sessions rename --help"`},
		{"status now", `"now" is one argument too many`, `see "ionclaw status --help"`},
		{"chat", "MESSAGE is missing", `see "ionclaw chat --help"`},
		{"serve --port x", `invalid argument "x" for "--port" flag`, `see "ionclaw serve --help"`},
		{"serve --port 65536", "--port 65536 is no port", "0 for a free one"},
		{"serve --port -1", "--port -1 is no port", "0 for a free one"},
		{"sessions show nonsense", "not a session id", ""},
		{"sessions list --limit 0", "--limit is 0", "use 1 to 1000"},
		{"tasks list --limit 501", "--limit is 501", "use 1 to 500"},
		{"tasks list --state lost", `there is no state "lost"`, "interrupted"},
		{"chat --session nonsense hi", "not a session id", ""},
		{"credential show x", "the output is not a terminal", "--reveal"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			w := newWorld(t)
			w.wantRun(2, "", "ionclaw: "+tt.message, strings.Fields(tt.args)...)
			if !strings.Contains(w.err.String(), tt.message) || !strings.Contains(w.err.String(), tt.hint) {
				t.Errorf("got %s\nwant %q and %q", w.err.String(), tt.message, tt.hint)
			}
			w.empty()
			// The same as JSON, wherever the flag stands.
			for _, args := range [][]string{append([]string{"--json"}, strings.Fields(tt.args)...), append(strings.Fields(tt.args), "--json")} {
				w := newWorld(t)
				w.wantRun(2, "", "", args...)
				if e := w.errorOf(); e.Code != app.CodeBadRequest || !strings.Contains(e.Message, tt.message) || w.out.String() != "" {
					t.Errorf("%v: got %+v, stdout %q", args, e, w.out.String())
				}
			}
		})
	}
}

func TestEmptyOperand(t *testing.T) {
	newWorld(t).wantRun(2, "", "NAME is empty", "credential", "delete", "")
}

func TestVersionFlag(t *testing.T) {
	newWorld(t).wantRun(0, "ionclaw 1.2.3\n", "", "--version")
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"sessions"}, {"credential", "set", "--help"}} {
		newWorld(t).wantRun(0, "Usage:", "", args...)
	}
}

// TestCommands holds the list of commands: a new one belongs into the manual too.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	c := &cli{System: w.System}
	var got []string
	for _, cmd := range c.root().Commands() {
		got = append(got, cmd.Name())
		for _, sub := range cmd.Commands() {
			if cmd.Name() != "completion" {
				got = append(got, cmd.Name()+" "+sub.Name())
			}
		}
	}
	want := []string{
		"agents", "agents delete", "agents list", "agents show",
		"chat", "completion", "config", "config check", "config path",
		"credential", "credential delete", "credential generate", "credential list", "credential set", "credential show",
		"serve", "sessions", "sessions delete", "sessions list", "sessions rename", "sessions show",
		"start", "status", "stop", "tasks", "tasks abort", "tasks list", "tasks show", "version",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSelfRepeatsTheGlobalFlags(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ config, data, want string }{
		{"", "", "ionclaw"},
		{"/a/c.yml", "", "ionclaw --config /a/c.yml"},
		{"", "/my data/it's", `ionclaw --data-dir '/my data/it'\''s'`},
	} {
		c := &cli{System: w.System, configFile: tt.config, dataDir: tt.data}
		if got := c.self(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestReportShowsNoTerminalSequences(t *testing.T) {
	w := newWorld(t)
	c := &cli{System: w.System}
	c.report(app.AsError(errors.New("a \x1b[31mred\x1b[0m\nand a second line\u009b1m")))
	if got, want := w.err.String(), "ionclaw: a [31mred[0m\nionclaw: and a second line1m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
