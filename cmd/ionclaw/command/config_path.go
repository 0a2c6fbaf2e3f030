package command

import "github.com/spf13/cobra"

func (c *cli) configPath() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration file is; with --json also where everything else is",
		Args:  operands(),
		RunE: func(*cobra.Command, []string) error {
			p := c.paths()
			c.print(p, func() { c.printf("%s\n", p.Config) })
			return nil
		},
	}
}
