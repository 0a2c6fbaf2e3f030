package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

type credentialGenerateOptions struct {
	*cli
	replace bool
}

func (c *cli) credentialGenerate() *cobra.Command {
	o := &credentialGenerateOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "generate NAME",
		Short: "Make a new random key; a token of the MCP endpoint is rotated this way",
		Long: `Make a new random key and store it. It is not printed; "credential show" does that.

A key that was there before is replaced. If it is the token of the MCP endpoint, the old one still opens for
channels.mcp.rotation_grace. The key of a model provider is only replaced with --replace: it came from the provider.`,
		Args:              operands("NAME"),
		ValidArgsFunction: firstOnly(c.completeCredentials),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&o.replace, "replace", false, "also replace the key of a model provider")
	return cmd
}

func (o *credentialGenerateOptions) run(ctx context.Context, name string) error {
	s, err := o.settings(ctx)
	if err != nil {
		return err
	}
	if !o.replace {
		if err := ofProvider(ctx, s, name); err != nil {
			return err
		}
	}
	if err := s.GenerateCredential(ctx, name); err != nil {
		return err
	}
	o.print(keyAnswer{name, "generated"}, func() {
		o.printf("A new key is stored as %s. Show it with: %s credential show %s\n", cleanLine(name), o.self(), shellQuote(name))
	})
	return nil
}

// ofProvider refuses to replace a key that a provider gave out and that exists only here.
func ofProvider(ctx context.Context, k keys, name string) error {
	list, err := k.Credentials(ctx)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.Name != name || info.Problem != "" {
			continue
		}
		for _, user := range info.UsedBy {
			if p, ok := strings.CutPrefix(user, "providers."); ok {
				return &app.Error{Code: app.CodeConflict, Message: fmt.Sprintf("%s is the key of provider %s; a random one would not work there", name, p),
					Hint: "set the provider's key with \"ionclaw credential set " + name + "\", or repeat with --replace"}
			}
		}
	}
	return nil
}
