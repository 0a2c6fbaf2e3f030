package command

import (
	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) agents() *cobra.Command {
	return group(&cobra.Command{Use: "agents", Aliases: []string{"agent"}, Short: "List, read and delete agents"},
		c.agentsList(), c.agentsShow(), c.agentsDelete())
}

// completeAgents offers the names of agents to the shell.
func (c *cli) completeAgents(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := c.settings(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := s.Agents(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions(list, func(a app.AgentInfo) (string, string) { return a.Name, a.Description }), cobra.ShellCompDirectiveNoFileComp
}

func completions[T any](list []T, describe func(T) (name, text string)) []cobra.Completion {
	var out []cobra.Completion
	for _, item := range list {
		name, text := describe(item)
		out = append(out, cobra.CompletionWithDesc(name, cleanLine(text)))
	}
	return out
}

// firstOnly offers completions for the first argument alone.
func firstOnly(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, word)
	}
}
