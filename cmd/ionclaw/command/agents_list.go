package command

import (
	"context"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) agentsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List agents",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runAgentsList(cmd.Context()) },
	}
}

type agentsAnswer struct {
	Agents []app.AgentInfo `json:"agents"`
}

func (c *cli) runAgentsList(ctx context.Context) error {
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	list, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	c.print(agentsAnswer{list}, func() {
		rows := make([][]string, len(list))
		for i, a := range list {
			rows[i] = []string{a.Name, a.Model, a.Description}
		}
		c.table([]string{"NAME", "MODEL", "DESCRIPTION"}, rows)
	})
	return nil
}
