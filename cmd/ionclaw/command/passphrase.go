package command

import (
	"context"
	"errors"
	"fmt"

	"ionclaw-tray/app/secret"
)

// passphrase asks the person at the terminal for the passphrase of the encrypted credentials file; one that is chosen
// is asked for twice.
func (c *cli) passphrase(ctx context.Context) (string, error) {
	return c.askPassphrase(secret.Asking(ctx))
}

func (c *cli) askPassphrase(asking secret.Ask) (string, error) {
	if !asking.Fresh {
		if asking.Try > 1 {
			c.note("That passphrase does not open the file.")
		}
		return c.ask(fmt.Sprintf("Passphrase of %s: ", cleanLine(asking.File)))
	}
	c.note("There is no keyring. Keys will be kept in %s, encrypted with a passphrase.", cleanLine(asking.File))
	first, err := c.ask("New passphrase: ")
	if err != nil {
		return "", err
	}
	if first == "" {
		return "", errors.New("no passphrase was given")
	}
	again, err := c.ask("The same again: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the two passphrases differ; nothing was stored")
	}
	return first, nil
}
