package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say how the running program is",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runStatus(cmd.Context()) },
	}
}

func (c *cli) runStatus(ctx context.Context) error {
	running, err := c.running(ctx)
	if err != nil {
		return err
	}
	s, err := running.Status(ctx)
	if err != nil {
		return err
	}
	c.print(s, func() { c.showStatus(s) })
	return nil
}

func (c *cli) showStatus(s app.Status) {
	uptime := time.Duration(s.Uptime) * time.Second
	c.printf("IonClaw %s is running (process %d, up %s).\n\n", cleanLine(s.Version), s.PID, uptimeWords(uptime))
	c.fields(
		"MCP endpoint", s.MCP.URL,
		"Channel", channelWords(s.MCP.Running, "", c.self()),
		"Access", accessWords(s.MCP.RequireAuth, s.MCP.Credential),
		"Clients", fmt.Sprint(len(s.MCP.Clients)),
		"Agents", fmt.Sprint(s.Agents),
		"Turns", fmt.Sprintf("%d running, %d waiting", s.Running, s.Waiting),
		"Configuration", s.Paths.Config,
		"Data", s.Paths.Data,
		"Log", s.Paths.Log,
	)
	if len(s.Secrets) > 0 {
		c.printf("\nWhere keys can be kept:\n")
		for _, src := range s.Secrets {
			state := "not available"
			switch {
			case src.Locked:
				state = "locked"
			case src.Available:
				state = "available"
			}
			if src.Detail != "" {
				state += " (" + src.Detail + ")"
			}
			c.printf("  %s\n", cleanLine(string(src.Source)+": "+state))
		}
	}
	for _, p := range s.Problems {
		c.printf("\nProblem (%s): %s\n", cleanLine(p.About), cleanText(p.Text))
	}
}

// uptimeWords is a length of time with its largest two units.
func uptimeWords(d time.Duration) string {
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
}
