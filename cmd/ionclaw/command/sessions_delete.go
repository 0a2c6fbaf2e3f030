package command

import (
	"context"

	"github.com/spf13/cobra"

	"ionclaw-tray/app/session"
)

func (c *cli) sessionsDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete KEY",
		Short: "Delete a chat with all its messages; what runs in it is stopped first",
		Args:  operands("KEY"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.runSessionsDelete(cmd.Context(), args[0]) },
	}
}

// statusAnswer is what a change without further results prints with --json.
type statusAnswer struct {
	Status string `json:"status"`
}

func (c *cli) runSessionsDelete(ctx context.Context, arg string) error {
	key, err := session.Parse(arg)
	if err != nil {
		return err
	}
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	found, err := running.DeleteSession(ctx, key)
	if err != nil {
		return err
	}
	if !found {
		return noSession(key)
	}
	c.print(statusAnswer{"deleted"}, func() { c.printf("Deleted %s.\n", key) })
	return nil
}
