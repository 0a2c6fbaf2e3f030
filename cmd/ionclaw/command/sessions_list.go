package command

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"ionclaw-tray/app/store"
)

type sessionsListOptions struct {
	*cli
	query store.SessionQuery
}

func (c *cli) sessionsList() *cobra.Command {
	o := &sessionsListOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List chats, newest first",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVar(&o.query.Limit, "limit", 200, "at most this `number` of chats")
	f.StringVar(&o.query.Cursor, "cursor", "", "go on where a former list ended")
	f.StringVar(&o.query.Channel, "channel", "", "only chats of this channel: mcp, desktop, api or cli")
	f.StringVar(&o.query.Query, "query", "", "only chats with this `text` in their name or messages")
	return cmd
}

func (o *sessionsListOptions) run(ctx context.Context) error {
	if err := inRange("--limit", o.query.Limit, store.MaxSessions); err != nil {
		return err
	}
	h, done, err := o.history(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, err := h.Sessions(ctx, o.query)
	if err != nil {
		return err
	}
	o.print(list, func() {
		if len(list.Sessions) == 0 {
			o.note("No chats.")
			o.more(list.Next)
			return
		}
		rows := make([][]string, len(list.Sessions))
		for i, s := range list.Sessions {
			rows[i] = []string{s.Key.String(), o.clock(s.UpdatedAt), strconv.Itoa(s.Messages), s.Agent, chatLabel(s)}
		}
		o.table([]string{"KEY", "UPDATED", "MESSAGES", "AGENT", "NAME"}, rows)
		o.more(list.Next)
	})
	return nil
}

// more says how to see the rest of a list.
func (c *cli) more(cursor string) {
	if cursor != "" {
		c.note("There are more: add --cursor %s", shellQuote(cursor))
	}
}
