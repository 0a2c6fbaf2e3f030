package command

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/app/secret"
)

func (c *cli) credentialSet() *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Store a key that is typed or read from standard input",
		Long: `Store a key. On a terminal it is asked for and not shown; otherwise it is read from standard input. It is never an
argument: those are visible to other programs and kept in the shell's history.`,
		Example:           `  ionclaw credential set anthropic < key.txt`,
		Args:              nameOnly,
		ValidArgsFunction: firstOnly(c.completeCredentials),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.runCredentialSet(cmd.Context(), args[0]) },
	}
}

// nameOnly is operands("NAME") for a command to which someone may give a key by mistake: it repeats nothing.
func nameOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &app.Error{Code: app.CodeBadRequest, Message: "a key is not given as an argument, where other programs can see it",
			Hint: "pipe it in, or run the command with the name alone and type it"}
	}
	return operands("NAME")(cmd, args)
}

func (c *cli) runCredentialSet(ctx context.Context, name string) error {
	key, err := c.readKey(name)
	if err != nil {
		return err
	}
	s, err := c.settings(ctx)
	if err != nil {
		return err
	}
	if err := s.SetCredential(ctx, name, key); err != nil {
		return err
	}
	c.print(keyAnswer{name, "stored"}, func() { c.printf("Stored the key of %s.\n", cleanLine(name)) })
	return nil
}

// readKey gets a key from the person or the pipe. Its errors never hold a part of it.
func (c *cli) readKey(name string) (string, error) {
	var key string
	var err error
	if c.InTerm {
		key, err = c.ask(fmt.Sprintf("Key of %s (not shown): ", cleanLine(name)))
	} else {
		// Room for the line break that readAll takes off.
		key, err = readAll(c.In, secret.MaxKey+2, "the key")
	}
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key) // what a copy from a web page brings along
	switch {
	case key == "":
		return "", &app.Error{Code: app.CodeBadRequest, Message: "the key is empty"}
	case len(key) > secret.MaxKey:
		return "", &app.Error{Code: app.CodeTooLarge, Message: fmt.Sprintf("the key is longer than %d bytes", secret.MaxKey)}
	case strings.ContainsFunc(key, unicode.IsControl) || !utf8.ValidString(key):
		return "", &app.Error{Code: app.CodeBadRequest, Message: "the key has line breaks, control characters or broken text in it", Hint: "give the key alone, in one line"}
	}
	return key, nil
}
