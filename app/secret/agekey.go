package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// PassphraseTries is how often a passphrase may be mistyped before an operation gives up.
const PassphraseTries = 3

// Ask tells a passphrase function what it asks for.
type Ask struct {
	File  string // the encrypted file
	Try   int    // 1 for the first question, up to PassphraseTries; more than 1: the last answer was wrong
	Fresh bool   // the file does not exist yet: a passphrase is chosen, and worth typing twice
}

type askKey struct{}

// Asking returns what a passphrase function called with ctx asks for.
func Asking(ctx context.Context) Ask {
	a, _ := ctx.Value(askKey{}).(Ask)
	return a
}

type quietKey struct{}

// withoutAsking makes load fail with errMustAsk where it would ask for a passphrase.
func withoutAsking(ctx context.Context) context.Context {
	return context.WithValue(ctx, quietKey{}, true)
}

// errMustAsk also says to a person what is the matter.
var errMustAsk = errors.New("its passphrase has not been given yet")

// isPassphraseFile looks at the header, which is not secret: https://age-encryption.org/v1, "scrypt recipient stanza".
func isPassphraseFile(sealed []byte) bool {
	header, err := age.ExtractHeader(dearmor(sealed))
	return err == nil && bytes.Contains(header, []byte("\n-> scrypt "))
}

// dearmor also takes the text form that the age program writes with -a.
func dearmor(sealed []byte) io.Reader {
	if bytes.HasPrefix(bytes.TrimSpace(sealed), []byte(armor.Header)) {
		return armor.NewReader(bytes.NewReader(sealed))
	}
	return bytes.NewReader(sealed)
}

// open decrypts the file: one made with a passphrase with that, any other with the identity.
func (a *ageFile) open(ctx context.Context, seen uint64, sealed []byte) ([]byte, error) {
	if isPassphraseFile(sealed) {
		return a.openWithPassphrase(ctx, seen, sealed)
	}
	path := a.identity()
	if path == "" {
		if _, err := age.ExtractHeader(dearmor(sealed)); err != nil {
			return nil, a.damaged(err)
		}
		return nil, &Error{Kind: ErrLocked, What: fmt.Sprintf("%s is encrypted for an identity", a.path), Remedy: "name its identity file in " + envIdentity}
	}
	ids, err := a.identities(path)
	if err != nil {
		return nil, err
	}
	plain, err := decrypt(sealed, ids...)
	if isWrongKey(err) {
		return nil, &Error{Kind: ErrLocked, What: fmt.Sprintf("the identity in %s does not open %s", path, a.path), Remedy: "name the identity file it was encrypted for in " + envIdentity}
	}
	if err != nil {
		return nil, a.damaged(err)
	}
	return plain, nil
}

// openWithPassphrase tries the passphrase that worked before and then asks. Only one that has opened the file is kept.
func (a *ageFile) openWithPassphrase(ctx context.Context, seen uint64, sealed []byte) ([]byte, error) {
	if a.passphrase != "" {
		plain, err := a.tryPassphrase(sealed, a.passphrase)
		if !isWrongKey(err) {
			return plain, err
		}
		a.keep("")
	}
	for try := 1; try <= PassphraseTries; try++ {
		passphrase, err := a.question(ctx, seen, Ask{File: a.path, Try: try})
		if err != nil {
			return nil, err
		}
		plain, err := a.tryPassphrase(sealed, passphrase)
		if isWrongKey(err) {
			continue
		}
		if err == nil {
			a.keep(passphrase)
		}
		return plain, err
	}
	err := &Error{Kind: ErrLocked, What: fmt.Sprintf("the passphrase for %s was wrong %d times", a.path, PassphraseTries), Remedy: "try again with the right one; nothing was changed"}
	a.lane.refuse(err)
	return nil, err
}

func (a *ageFile) tryPassphrase(sealed []byte, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, errWrongKey
	}
	id, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := decrypt(sealed, id)
	if err != nil && !isWrongKey(err) {
		return nil, a.damaged(err)
	}
	return plain, err
}

// errWrongKey stands for a passphrase that need not be tried.
var errWrongKey = errors.New("wrong passphrase")

func isWrongKey(err error) bool {
	var none *age.NoIdentityMatchError
	return errors.Is(err, errWrongKey) || errors.As(err, &none)
}

func (a *ageFile) damaged(cause error) error {
	return &Error{Kind: ErrUnavailable, What: fmt.Sprintf("%s is damaged or not an age file", a.path), Remedy: "restore it or move it away; it was left as it is", Cause: cause}
}

// question asks a person once, unless somebody refused while this caller was waiting.
func (a *ageFile) question(ctx context.Context, seen uint64, what Ask) (string, error) {
	if ctx.Value(quietKey{}) != nil || a.ask == nil {
		return "", &Error{Kind: ErrLocked, What: fmt.Sprintf("%s is encrypted with a passphrase", a.path), Remedy: "give it in the program's window or a terminal", Cause: errMustAsk}
	}
	if err := a.lane.refusedSince(seen); err != nil {
		return "", err
	}
	passphrase, err := a.ask(context.WithValue(ctx, askKey{}, what))
	if err == nil {
		return passphrase, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if what.Fresh {
		err = &Error{Kind: ErrUnavailable, What: fmt.Sprintf("no passphrase was given to make %s", a.path), Remedy: elsewhere, Cause: err}
	} else {
		err = &Error{Kind: ErrLocked, What: fmt.Sprintf("no passphrase was given to open %s", a.path), Remedy: "try again", Cause: err}
	}
	a.lane.refuse(err)
	return "", err
}

// prepare makes sure, before a first write, that there is something to encrypt with.
func (a *ageFile) prepare(ctx context.Context, seen uint64) error {
	if a.exists() || a.identity() != "" || a.passphrase != "" {
		return nil
	}
	passphrase, err := a.question(ctx, seen, Ask{File: a.path, Try: 1, Fresh: true})
	if err == nil && passphrase == "" {
		err = &Error{Kind: ErrUnavailable, What: fmt.Sprintf("an empty passphrase was given to make %s", a.path), Remedy: "choose one"}
	}
	if err == nil {
		a.keep(passphrase)
	}
	return err
}

func (a *ageFile) keep(passphrase string) {
	a.passphrase = passphrase
	a.opened.Store(passphrase != "")
	if passphrase != "" {
		a.hide(passphrase)
	}
}

// seal encrypts. A file stays with what it was made with; a new one is made for the identity if there is one.
func (a *ageFile) seal(plain []byte) ([]byte, error) {
	recipients, err := a.recipients()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypting credentials: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("encrypting credentials: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encrypting credentials: %w", err)
	}
	return out.Bytes(), nil
}

func (a *ageFile) recipients() ([]age.Recipient, error) {
	existing, err := readLimited(a.path)
	path := a.identity()
	if path == "" || err == nil && isPassphraseFile(existing) {
		if a.passphrase == "" {
			return nil, errMustAsk // the file was made or removed by another program a moment ago
		}
		r, err := age.NewScryptRecipient(a.passphrase)
		if err != nil {
			return nil, fmt.Errorf("encrypting credentials: %w", err)
		}
		if a.logN > 0 {
			r.SetWorkFactor(a.logN)
		}
		return []age.Recipient{r}, nil
	}
	ids, err := a.identities(path)
	if err != nil {
		return nil, err
	}
	var all []age.Recipient
	for _, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			all = append(all, id.Recipient())
		case *age.HybridIdentity:
			all = append(all, id.Recipient())
		}
	}
	return all, nil
}

// identities reads the identity file and hides what is in it.
func (a *ageFile) identities(path string) ([]age.Identity, error) {
	ids, err := readIdentity(path)
	for _, id := range ids {
		if s, ok := id.(fmt.Stringer); ok {
			a.hide(s.String())
		}
	}
	return ids, err
}

func readIdentity(path string) ([]age.Identity, error) {
	fail := func(cause error) error {
		return &Error{Kind: ErrLocked, What: fmt.Sprintf("the identity file %s (%s) cannot be used", path, envIdentity),
			Remedy: "make one with: age-keygen -o FILE", Cause: cause}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(err)
	}
	if strings.HasPrefix(string(b), "age-encryption.org/") || bytes.HasPrefix(b, []byte(armor.Header)) {
		return nil, fail(errors.New("it is itself encrypted"))
	}
	ids, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil {
		return nil, fail(err)
	}
	return ids, nil
}

// identityWarning is not an error, because containers mount secrets readable for all.
func identityWarning(path string) string {
	const others = 0o077
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&others == 0 {
		return ""
	}
	return fmt.Sprintf("others may be able to read it, so: chmod 600 %s", path)
}

func decrypt(sealed []byte, ids ...age.Identity) ([]byte, error) {
	r, err := age.Decrypt(dearmor(sealed), ids...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, MaxAgeFile+1))
}
