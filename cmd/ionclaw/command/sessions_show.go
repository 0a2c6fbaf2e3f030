package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/cmd/ionclaw/client"
)

// maxMessages is the longest part of a chat that the local API gives at a time.
const maxMessages = 1000

type sessionsShowOptions struct {
	*cli
	query store.MessageQuery
}

func (c *cli) sessionsShow() *cobra.Command {
	o := &sessionsShowOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Print the last messages of a chat",
		Args:  operands("KEY"),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().IntVar(&o.query.Limit, "limit", 200, fmt.Sprintf("at most this `number` of messages, up to %d", maxMessages))
	cmd.Flags().Uint64Var(&o.query.Before, "before", 0, "only messages before this sequence `number`")
	return cmd
}

func (o *sessionsShowOptions) run(ctx context.Context, arg string) error {
	key, err := session.Parse(arg)
	if err != nil {
		return err
	}
	if err := inRange("--limit", o.query.Limit, maxMessages); err != nil {
		return err
	}
	h, done, err := o.history(ctx)
	if err != nil {
		return err
	}
	defer done()
	s, err := h.Session(ctx, key, o.query)
	if err != nil {
		return err
	}
	o.print(s, func() { o.show(s) })
	return nil
}

func (o *sessionsShowOptions) show(s client.Session) {
	o.fields("Chat", chatLabel(s.Info), "Key", s.Key.String(), "Updated", o.clock(s.UpdatedAt))
	for _, m := range s.Messages {
		o.printf("\n[%d] %s  %s\n", m.Seq, cleanLine(speaker(m)), o.clock(m.Timestamp))
		for _, call := range m.ToolCalls {
			o.printf("%s\n", cleanLine(fmt.Sprintf("→ %s %s", call.Name, call.Arguments)))
		}
		if m.Content != "" {
			o.printf("%s\n", cleanText(m.Content))
		}
		switch {
		case m.Error != "":
			o.printf("%s\n", cleanText("! "+m.Error))
		case m.Aborted:
			o.printf("! aborted\n")
		}
	}
	if len(s.Messages) > 0 && s.Messages[0].Seq > 1 {
		o.note("\nThere are earlier messages: add --before %d", s.Messages[0].Seq)
	}
}

func speaker(m session.Message) string {
	if m.Role == session.RoleAssistant && m.Agent != "" {
		return m.Agent
	}
	return string(m.Role)
}
