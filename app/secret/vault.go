package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Options configure a Vault. The zero value is a vault over the environment and the system's keyring.
type Options struct {
	// AgePath is the encrypted file, "" for none. It is made at the first write that needs it.
	AgePath string
	// Passphrase asks a person for the passphrase of the encrypted file; Asking(ctx) says what for. An error means
	// that there is no answer. nil: nobody can be asked.
	Passphrase func(ctx context.Context) (string, error)
	// Redactor learns every key. nil: a new one.
	Redactor *Redactor
	// Log gets names and sources, never keys. nil: nothing is logged.
	Log *slog.Logger
	// Waiting is told when the keyring begins to ask a person for its password, and when that is over; it may still
	// ask after the operation has given up. It must not block and not call the vault. nil: nobody is told.
	Waiting func(waiting bool)
	// Keyring replaces the keyring of the system, in tests and where a program brings its own. It counts as unlocked.
	Keyring Keyring
}

// Vault keeps credentials; see the package's comment for where. It is safe for concurrent use. Each method returns
// when its context ends, an operation of the keyring may then still be carried out.
type Vault struct {
	keyring *keyring
	age     *ageFile
	redact  *Redactor
	log     *slog.Logger
	getenv  func(string) string
	environ func() []string
}

// New makes a Vault. It touches neither keyring nor file.
func New(o Options) *Vault {
	v := &Vault{redact: o.Redactor, log: o.Log, getenv: os.Getenv, environ: os.Environ}
	if v.redact == nil {
		v.redact = NewRedactor()
	}
	for _, kv := range os.Environ() { // before anybody can print the environment
		if name, key, _ := strings.Cut(kv, "="); strings.HasPrefix(name, envPrefix) {
			v.redact.Add(key)
		}
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	if o.Keyring != nil {
		v.keyring = newKeyring(o.Keyring, blind{}, o.Waiting)
	} else {
		v.keyring = newKeyring(systemKeyring{}, platformProber(), o.Waiting)
		v.keyring.prompts = platformPrompts
	}
	v.age = &ageFile{path: o.AgePath, ask: o.Passphrase, hide: v.redact.Add, lane: newLane(),
		identity: func() string { return v.getenv(envIdentity) }}
	return v
}

// Get returns the key of a credential from the first source that has it. A keyring that is locked, or does not answer,
// is an error even if another source could help: only one that is missing is passed over.
func (v *Vault) Get(ctx context.Context, name string) (Secret, error) {
	if err := checkName(name); err != nil {
		return Secret{}, err
	}
	if g, ok, err := environment(v.getenv, name); err != nil || ok {
		return v.found(name, g.key, g.source), err
	}
	key, err := v.keyring.get(ctx, name)
	if err == nil {
		return v.found(name, key, SourceKeyring), nil
	}
	if v.passOver(err) && v.age.inUse() {
		key, err = v.age.get(ctx, name)
		if err == nil {
			return v.found(name, key, SourceAge), nil
		}
	}
	return Secret{}, v.explain("reading", name, err)
}

// found makes a key known to the redactor before anybody else sees it.
func (v *Vault) found(name, key string, source Source) Secret {
	if key == "" {
		return Secret{}
	}
	v.redact.Add(key)
	v.log.Debug("credential read", "name", name, "source", string(source))
	return Secret{Key: key, Source: source}
}

// passOver says whether the next source may be asked.
func (v *Vault) passOver(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnavailable)
}

// Set stores a key in the keyring or, where there is none, in the encrypted file. ErrReadOnly if the environment
// provides the credential, ErrTooBig over MaxKey bytes.
func (v *Vault) Set(ctx context.Context, name, key string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if len(key) <= MaxKey {
		v.redact.Add(key)
	}
	if err := checkKey(name, key); err != nil {
		return err
	}
	if err := v.writable(name); err != nil {
		return err
	}
	err := v.keyring.set(ctx, name, key)
	source := SourceKeyring
	if errors.Is(err, ErrUnavailable) && v.age.configured() {
		// The remedy of the missing keyring is no longer of interest, unless the file cannot be made either.
		source = SourceAge
		if ageErr := v.age.set(ctx, name, key); ageErr == nil || !errors.Is(ageErr, ErrUnavailable) {
			err = ageErr
		} else {
			err = &Error{Kind: ErrUnavailable, What: fmt.Sprintf("credential %q was not stored", name), Cause: errors.Join(err, ageErr)}
		}
	}
	if err != nil {
		return v.explain("storing", name, err)
	}
	v.log.Info("credential stored", "name", name, "source", string(source))
	return nil
}

// Delete removes a credential from the keyring and from the encrypted file. ErrNotFound if neither has it,
// ErrReadOnly if the environment provides it.
func (v *Vault) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := v.writable(name); err != nil {
		return err
	}
	err := v.keyring.delete(ctx, name)
	// A copy in the file would answer from now on, so it has to go as well.
	if (err == nil || v.passOver(err)) && v.age.exists() {
		ageErr := v.age.delete(ctx, name)
		if err != nil || !errors.Is(ageErr, ErrNotFound) {
			err = ageErr
		}
	}
	if err != nil {
		return v.explain("deleting", name, err)
	}
	v.log.Info("credential deleted", "name", name)
	return nil
}

// writable is ErrReadOnly for a credential that somebody else provides.
func (v *Vault) writable(name string) error {
	g, ok, err := environment(v.getenv, name)
	switch {
	case ok:
		v.redact.Add(g.key)
		return &Error{Kind: ErrReadOnly, What: fmt.Sprintf("credential %q comes from the %s", name, g.origin), Remedy: "change it there, or remove it there first"}
	case errors.Is(err, ErrTooBig):
		return &Error{Kind: ErrReadOnly, What: fmt.Sprintf("credential %q comes from the environment", name), Remedy: "change it there, or remove it there first", Cause: err}
	}
	return err
}

// Where says which source would answer for a credential. It asks nobody for a password: ErrLocked if only the
// encrypted file could tell and its passphrase has not been given yet. On macOS and Windows it has to read the key.
func (v *Vault) Where(ctx context.Context, name string) (Source, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	g, ok, err := environment(v.getenv, name)
	if err != nil {
		return "", err
	}
	if ok {
		v.redact.Add(g.key)
		return g.source, nil
	}
	found, err := v.keyring.has(ctx, name)
	if found && err == nil {
		return SourceKeyring, nil
	}
	if err == nil {
		err = notFound(name, "the keyring")
	}
	if v.passOver(err) && v.age.inUse() {
		if found, err = v.age.has(ctx, name); err == nil && found {
			return SourceAge, nil
		}
		if err == nil {
			err = notFound(name, "the encrypted file "+v.age.path)
		}
	}
	return "", v.explain("looking for", name, err)
}

// Status describes all sources in the order in which they are read. It never prompts and takes CallLimit at most.
func (v *Vault) Status(ctx context.Context) []SourceStatus {
	return []SourceStatus{
		environmentStatus(v.environ()), directoryStatus(v.getenv(envDirectory)), v.keyring.status(ctx), v.age.status(),
	}
}

// Redactor returns the redactor that knows every key this vault has seen.
func (v *Vault) Redactor() *Redactor { return v.redact }

// explain completes an error with the name; errors of this package say enough by themselves.
func (v *Vault) explain(doing, name string, err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		if typed.Cause == nil || v.redact.Redact(typed.Cause.Error()) == typed.Cause.Error() {
			return err
		}
		clean := *typed
		clean.Cause = errors.New(v.redact.Redact(typed.Cause.Error()))
		return &clean
	}
	if text := err.Error(); v.redact.Redact(text) != text {
		err = errors.New(v.redact.Redact(text))
	}
	return fmt.Errorf("%s credential %q: %w", doing, name, err)
}
