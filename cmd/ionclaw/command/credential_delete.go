package command

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) credentialDelete() *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME",
		Short:             "Delete a key that nothing uses any more",
		Args:              operands("NAME"),
		ValidArgsFunction: firstOnly(c.completeCredentials),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.runCredentialDelete(cmd.Context(), args[0]) },
	}
}

func (c *cli) runCredentialDelete(ctx context.Context, name string) error {
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	if err := s.DeleteCredential(ctx, name); err != nil {
		return err
	}
	c.print(keyAnswer{name, "deleted"}, func() { c.printf("Deleted credential %s.\n", cleanLine(name)) })
	return nil
}
