package command

import "github.com/spf13/cobra"

func (c *cli) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration file and name every mistake with line and column",
		Args:  operands(),
		RunE:  func(*cobra.Command, []string) error { return c.runConfigCheck() },
	}
}

// checkAnswer is what "config check --json" prints for a valid file.
type checkAnswer struct {
	File   string `json:"file"`
	Status string `json:"status"`
	Agents int    `json:"agents"`
}

func (c *cli) runConfigCheck() error {
	path := c.paths().Config
	cfg, err := c.readConfig(path)
	if err != nil {
		return err
	}
	c.print(checkAnswer{path, "valid", len(cfg.Agents)}, func() { c.printf("%s is valid.\n", path) })
	return nil
}
