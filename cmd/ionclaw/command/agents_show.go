package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ionclaw-tray/cmd/ionclaw/client"
)

func (c *cli) agentsShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Print an agent with all its settings",
		Args:              operands("NAME"),
		ValidArgsFunction: firstOnly(c.completeAgents),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.runAgentsShow(cmd.Context(), args[0]) },
	}
}

func (c *cli) runAgentsShow(ctx context.Context, name string) error {
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	a, err := s.Agent(ctx, name)
	if err != nil {
		return err
	}
	c.print(a, func() { c.showAgent(a) })
	return nil
}

func (c *cli) showAgent(a client.Agent) {
	decimal := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	tokens := ""
	if a.Params.MaxTokens > 0 {
		tokens = strconv.Itoa(a.Params.MaxTokens)
	}
	tools := strings.Join(a.Tools, ", ")
	if tools == "" {
		tools = "none"
	}
	c.fields(
		"Agent", a.Name,
		"Description", a.Description,
		"Model", a.Model,
		"Fallbacks", strings.Join(a.Fallbacks, ", "),
		"Tools", tools,
		"Limits", fmt.Sprintf("%d model calls a turn, %d messages of history", a.MaxIterations, a.MaxHistory),
		"Temperature", decimal(a.Params.Temperature),
		"Top p", decimal(a.Params.TopP),
		"Max tokens", tokens,
	)
	if a.Instructions != "" {
		c.printf("\n%s\n", strings.TrimRight(cleanText(a.Instructions), "\n"))
	}
}
