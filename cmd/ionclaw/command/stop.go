package command

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) stop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Close the MCP endpoint of the running program",
		Long: `Close the MCP endpoint of the running program and end its MCP sessions. The program goes on; channels.mcp.enabled
stays as it is.`,
		Args: operands(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runStop(cmd.Context()) },
	}
}

func (c *cli) runStop(ctx context.Context) error {
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	if err := running.StopMCP(ctx); err != nil {
		return err
	}
	s, err := running.MCP(ctx)
	if err != nil {
		return err
	}
	c.print(channelAnswer{"stopped", s.URL}, func() { c.printf("The MCP endpoint %s is closed.\n", cleanLine(s.URL)) })
	return nil
}
