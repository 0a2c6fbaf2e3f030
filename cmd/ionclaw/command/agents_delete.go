package command

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) agentsDelete() *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME",
		Short:             "Take an agent out of the configuration file; its chats stay",
		Args:              operands("NAME"),
		ValidArgsFunction: firstOnly(c.completeAgents),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.runAgentsDelete(cmd.Context(), args[0]) },
	}
}

func (c *cli) runAgentsDelete(ctx context.Context, name string) error {
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	if err := s.DeleteAgent(ctx, name); err != nil {
		return err
	}
	c.print(statusAnswer{"deleted"}, func() { c.printf("Deleted agent %s.\n", cleanLine(name)) })
	return nil
}
