package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

type tasksListOptions struct {
	*cli
	query   store.TaskQuery
	state   string
	session string
}

func (c *cli) tasksList() *cobra.Command {
	o := &tasksListOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Args:  operands(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntVar(&o.query.Limit, "limit", 50, "at most this `number` of tasks")
	f.StringVar(&o.query.Cursor, "cursor", "", "go on where a former list ended")
	f.StringVar(&o.query.Agent, "agent", "", "only tasks of this agent")
	f.StringVar(&o.state, "state", "", "only tasks in this `state`: queued, running, done, error, stopped or interrupted")
	f.StringVar(&o.session, "session", "", "only tasks of the chat with this `key`")
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgents) // fails only for an unknown flag
	return cmd
}

func (o *tasksListOptions) run(ctx context.Context) error {
	if err := inRange("--limit", o.query.Limit, store.MaxTaskPage); err != nil {
		return err
	}
	if o.query.State = task.State(o.state); o.state != "" && !o.query.State.Valid() {
		return &app.Error{Code: app.CodeBadRequest, Message: fmt.Sprintf("there is no state %q", o.state), Hint: fmt.Sprintf("use one of %v", task.States)}
	}
	if o.session != "" {
		var err error
		if o.query.Session, err = session.Parse(o.session); err != nil {
			return err
		}
	}
	h, done, err := o.history(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, err := h.Tasks(ctx, o.query)
	if err != nil {
		return err
	}
	o.print(list, func() {
		if len(list.Tasks) == 0 {
			o.note("No tasks.")
			return
		}
		rows := make([][]string, len(list.Tasks))
		for i, t := range list.Tasks {
			rows[i] = []string{t.ID, string(t.State), o.clock(t.CreatedAt), t.Channel, t.Agent, t.Title}
		}
		o.table([]string{"ID", "STATE", "CREATED", "CHANNEL", "AGENT", "TITLE"}, rows)
		o.more(list.Next)
	})
	return nil
}
