package command

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  operands(),
		RunE: func(*cobra.Command, []string) error {
			v := versionAnswer{c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			c.print(v, func() { c.printf("ionclaw %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch) })
			return nil
		},
	}
}

type versionAnswer struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}
