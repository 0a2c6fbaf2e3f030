package command

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) start() *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Open the MCP endpoint of the running program",
		Long:  "Open the MCP endpoint of the running program, for this run: channels.mcp.enabled stays as it is.",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runStart(cmd.Context()) },
	}
}

// channelAnswer is what start and stop print with --json.
type channelAnswer struct {
	Status string `json:"status"`
	URL    string `json:"url"`
}

func (c *cli) runStart(ctx context.Context) error {
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	if err := running.StartMCP(ctx); err != nil {
		return err
	}
	s, err := running.MCP(ctx)
	if err != nil {
		return err
	}
	c.print(channelAnswer{"started", s.URL}, func() {
		c.fields("MCP endpoint", s.URL, "Access", accessWords(s.RequireAuth, s.Credential))
	})
	return nil
}
