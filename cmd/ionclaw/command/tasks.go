package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) tasks() *cobra.Command {
	return group(&cobra.Command{Use: "tasks", Aliases: []string{"task"}, Short: "List, read and abort tasks: each message to an agent is one"},
		c.tasksList(), c.tasksShow(), c.tasksAbort())
}

// inRange checks a number that bounds a list.
func inRange(flag string, n, limit int) error {
	if n < 1 || n > limit {
		return &app.Error{Code: app.CodeBadRequest, Message: fmt.Sprintf("%s is %d", flag, n), Hint: fmt.Sprintf("use 1 to %d", limit)}
	}
	return nil
}
