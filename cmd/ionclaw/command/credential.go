package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
)

func (c *cli) credential() *cobra.Command {
	return group(&cobra.Command{Use: "credential", Aliases: []string{"credentials"}, Short: "Make, show, set and delete keys; they are kept in the keyring"},
		c.credentialList(), c.credentialGenerate(), c.credentialShow(), c.credentialSet(), c.credentialDelete())
}

// keyAnswer is what a change of a key prints with --json; never the key.
type keyAnswer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// ask puts a question on the terminal and reads one line without showing it.
func (c *cli) ask(question string) (string, error) {
	fmt.Fprint(c.Err, question)
	answer, err := c.Secret()
	fmt.Fprintln(c.Err)
	if err != nil {
		return "", fmt.Errorf("reading from the terminal: %w", err)
	}
	return answer, nil
}

// completeCredentials offers the names of credentials to the shell. It only looks at the configuration: the keyring
// must not ask for its password because someone pressed Tab.
func (c *cli) completeCredentials(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := c.readConfig(c.paths().Config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []app.CredentialInfo
	for name := range cfg.Credentials {
		list = append(list, app.CredentialInfo{Name: name})
	}
	return completions(list, func(i app.CredentialInfo) (string, string) { return i.Name, "" }), cobra.ShellCompDirectiveNoFileComp
}
