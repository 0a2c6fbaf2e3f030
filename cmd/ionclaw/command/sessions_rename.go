package command

import (
	"context"

	"github.com/spf13/cobra"

	"ionclaw-tray/app/session"
)

func (c *cli) sessionsRename() *cobra.Command {
	return &cobra.Command{
		Use:   "rename KEY NAME",
		Short: "Give a chat another name",
		Args:  operands("KEY", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSessionsRename(cmd.Context(), args[0], args[1])
		},
	}
}

func (c *cli) runSessionsRename(ctx context.Context, arg, name string) error {
	key, err := session.Parse(arg)
	if err != nil {
		return err
	}
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	info, err := running.RenameSession(ctx, key, name)
	if err != nil {
		return err
	}
	c.print(info, func() { c.printf("%s is now %q.\n", info.Key, cleanLine(info.DisplayName)) })
	return nil
}
