package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ionclaw-tray/app/task"
)

func (c *cli) tasksShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print one task",
		Args:  operands("ID"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.runTasksShow(cmd.Context(), args[0]) },
	}
}

func (c *cli) runTasksShow(ctx context.Context, id string) error {
	h, done, err := c.history(ctx)
	if err != nil {
		return err
	}
	defer done()
	t, err := h.Task(ctx, id)
	if err != nil {
		return err
	}
	c.print(t, func() { c.showTask(t) })
	return nil
}

func (c *cli) showTask(t task.Task) {
	position := ""
	if t.QueuePosition > 0 {
		position = strconv.Itoa(t.QueuePosition)
	}
	c.fields(
		"Task", t.ID,
		"Title", t.Title,
		"State", string(t.State),
		"Queue position", position,
		"Agent", t.Agent,
		"Chat", t.SessionID.String(),
		"Created", c.clock(t.CreatedAt),
		"Started", c.clock(t.StartedAt),
		"Completed", c.clock(t.CompletedAt),
		"Work", fmt.Sprintf("%d model calls, %d tool calls", t.IterationCount, t.ToolCount),
		"Tokens", fmt.Sprintf("%d in, %d out", t.Usage.Input, t.Usage.Output),
		"Error", t.ErrorMessage,
	)
	if t.Result != "" {
		c.printf("\n%s\n", cleanText(t.Result))
	}
}
