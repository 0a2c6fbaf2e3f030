package command

import (
	"context"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

type credentialShowOptions struct {
	*cli
	reveal bool
}

func (c *cli) credentialShow() *cobra.Command {
	o := &credentialShowOptions{cli: c}
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Print a key on the terminal; with --reveal also into a pipe or file",
		Args:              operands("NAME"),
		ValidArgsFunction: firstOnly(c.completeCredentials),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&o.reveal, "reveal", false, "print the key wherever the output goes")
	return cmd
}

// revealAnswer is what "credential show --json" prints.
type revealAnswer struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func (o *credentialShowOptions) run(ctx context.Context, name string) error {
	if !o.OutTerm && !o.reveal {
		return &app.Error{Code: app.CodeBadRequest, Message: "the output is not a terminal, where a key could be kept by accident", Hint: "add --reveal if it should go there"}
	}
	s, err := o.settings(ctx)
	if err != nil {
		return err
	}
	key, err := s.RevealCredential(ctx, name)
	if err != nil {
		return err
	}
	o.print(revealAnswer{name, key}, func() { o.printf("%s\n", cleanLine(key)) })
	return nil
}
