package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/cmd/ionclaw/client"
)

// cli is what all commands share: the system and the global flags.
type cli struct {
	System
	configFile string
	dataDir    string
	json       bool
	began      bool // the arguments were understood and a command has begun
}

// Main runs one command and returns the exit code of the process. Errors have been printed.
func Main(ctx context.Context, args []string, sys System) int {
	c := &cli{System: sys}
	root := c.root()
	root.SetArgs(append([]string{}, args...)) // nil would make cobra look at the process itself
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if !c.began {
		err = asUsage(cmd, err)
		c.json = c.json || slices.Contains(args, "--json") // cobra stops at the first mistake
	}
	e := app.AsError(err)
	c.report(e)
	return e.Code.ExitCode()
}

func (c *cli) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "ionclaw",
		Short: "Your own agents behind one local MCP endpoint",
		Long: `ionclaw serves your agents and tools to IDE assistants through one MCP endpoint on this computer, and lets
you use them from the terminal.

Exit codes: 0 ok, 1 error, 2 usage or configuration, 3 already running, 4 port in use, 5 no credential,
6 not running.`,
		Version:           c.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(*cobra.Command, []string) error { c.began = true; return nil },
	})
	root.SetVersionTemplate("ionclaw {{.Version}}\n")
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&c.configFile, "config", "", "configuration `file` (default: $"+app.EnvConfig+", else the user's configuration folder)")
	flags.StringVar(&c.dataDir, "data-dir", "", "data `folder` (default: $"+app.EnvDataDir+", else the user's data folder)")
	flags.BoolVar(&c.json, "json", false, "print JSON, errors too")
	root.AddCommand(
		c.serve(), c.status(), c.start(), c.stop(), c.chat(),
		c.sessions(), c.tasks(), c.agents(), c.credential(),
		c.config(), c.version(),
	)
	root.InitDefaultCompletionCmd("completion")
	return root
}

// paths says where things are under the global flags.
func (c *cli) paths() app.Paths { return c.Paths(c.configFile, c.dataDir) }

// running connects to the running program; app.CodeNotRunning if there is none.
func (c *cli) running(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, c.paths().Instance)
}

// self is how this program is called with the same global flags, for lines to copy.
func (c *cli) self() string {
	line := "ionclaw"
	if c.configFile != "" {
		line += " --config " + shellQuote(c.paths().Config)
	}
	if c.dataDir != "" {
		line += " --data-dir " + shellQuote(c.paths().Data)
	}
	return line
}

func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// group makes a command that only holds others: alone it shows its help.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		e := &app.Error{Code: app.CodeBadRequest, Message: fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			e.Hint = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+near[0])
		}
		return e
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// operands makes a check that a command got exactly the named arguments.
func operands(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return fmt.Errorf("%q is one argument too many", args[len(names)])
		}
		for i, a := range args {
			if a == "" {
				return fmt.Errorf("%s is empty", names[i])
			}
		}
		return nil
	}
}

// asUsage gives a mistake in the arguments its code and the way to the help.
func asUsage(cmd *cobra.Command, err error) error {
	if e, ok := err.(*app.Error); ok && e.Hint != "" {
		return e
	}
	return &app.Error{Code: app.CodeBadRequest, Message: err.Error(), Hint: fmt.Sprintf("see %q", cmd.CommandPath()+" --help"), Err: err}
}
