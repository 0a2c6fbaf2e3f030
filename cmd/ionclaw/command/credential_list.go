package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) credentialList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List credentials, where their keys are kept and what uses them",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runCredentialList(cmd.Context()) },
	}
}

type credentialsAnswer struct {
	Credentials []app.CredentialInfo `json:"credentials"`
}

func (c *cli) runCredentialList(ctx context.Context) error {
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	list, err := s.Credentials(ctx)
	if err != nil {
		return err
	}
	c.print(credentialsAnswer{list}, func() {
		if len(list) == 0 {
			c.note(`No credentials. Make one with "%s credential generate NAME".`, c.self())
			return
		}
		rows := make([][]string, len(list))
		for i, info := range list {
			rows[i] = []string{info.Name, string(info.Source), strings.Join(info.UsedBy, ", "), info.Problem}
		}
		c.table([]string{"NAME", "KEPT IN", "USED BY", "PROBLEM"}, rows)
	})
	return nil
}
