package command

import (
	"context"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) tasksAbort() *cobra.Command {
	return &cobra.Command{
		Use:   "abort ID",
		Short: "Stop a task that runs or waits",
		Args:  operands("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.runTasksAbort(cmd.Context(), args[0]) },
	}
}

func (c *cli) runTasksAbort(ctx context.Context, id string) error {
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	alive, err := running.AbortTask(ctx, id)
	if err != nil {
		return err
	}
	if !alive {
		return &app.Error{Code: app.CodeConflict, Message: "task " + id + " is not running any more", Hint: "see how it ended with \"ionclaw tasks show " + id + "\""}
	}
	c.print(statusAnswer{"aborted"}, func() { c.printf("Aborted %s.\n", cleanLine(id)) })
	return nil
}
