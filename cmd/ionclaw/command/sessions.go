package command

import (
	"github.com/spf13/cobra"

	"ionclaw-tray/app/session"
)

func (c *cli) sessions() *cobra.Command {
	return group(&cobra.Command{Use: "sessions", Aliases: []string{"session"}, Short: "List, read, rename and delete chats"},
		c.sessionsList(), c.sessionsShow(), c.sessionsRename(), c.sessionsDelete())
}

// chatLabel names a chat for people.
func chatLabel(i session.Info) string {
	if i.DisplayName != "" {
		return i.DisplayName
	}
	return i.Key.Short()
}
