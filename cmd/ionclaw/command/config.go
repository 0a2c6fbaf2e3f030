package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
)

func (c *cli) config() *cobra.Command {
	return group(&cobra.Command{Use: "config", Short: "Find and check the configuration file"},
		c.configPath(), c.configCheck())
}

// readConfig reads and checks a configuration file. It makes none.
func (c *cli) readConfig(path string) (*config.Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &app.Error{Code: app.CodeInvalidConfig, Message: fmt.Sprintf("there is no configuration file %s", path),
			Hint: `the first "ionclaw serve" writes one`, Err: err}
	}
	if err != nil {
		return nil, &app.Error{Code: app.CodeInvalidConfig, Message: fmt.Sprintf("the configuration file cannot be read: %v", err),
			Hint: "it has to be a file that you may read", Err: err}
	}
	return config.Parse(path, data)
}
