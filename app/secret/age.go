package secret

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/gofrs/flock"
)

// MaxAgeFile bounds the encrypted file, in bytes: room for hundreds of keys.
const MaxAgeFile = 1 << 20

// ageFile keeps all keys in one file, a JSON object of name and key encrypted with age. Several programs may use it:
// a change happens under a file lock and replaces the file in one step, and what is read is always a whole file.
//
// Operations run one at a time in a lane, because they may ask for a passphrase; the fields below lane belong to
// whoever is in it.
type ageFile struct {
	path     string
	identity func() string // path of the identity file, "" if none
	ask      func(ctx context.Context) (string, error)
	hide     func(key string) // tells the redactor
	logN     int              // scrypt work factor of new files, 0: the library's

	lane *lane

	passphrase string // one that has opened the file
	sum        [sha256.Size]byte
	keys       map[string]string // content of the file with that sum
	proved     bool              // sum and keys are valid

	opened atomic.Bool // a passphrase is known; for status, which does not wait for the lane
}

// configured says whether a file could be made, as far as that can be told without asking.
func (a *ageFile) configured() bool { return a.path != "" && (a.identity() != "" || a.ask != nil) }

func (a *ageFile) exists() bool {
	if a.path == "" {
		return false
	}
	_, err := os.Stat(a.path)
	return err == nil
}

// inUse says whether the file is worth reading.
func (a *ageFile) inUse() bool { return a.exists() || a.path != "" && a.identity() != "" }

func (a *ageFile) get(ctx context.Context, name string) (string, error) {
	return a.run(ctx, func(seen uint64) (string, error) {
		keys, err := a.load(ctx, seen)
		if err != nil {
			return "", err
		}
		key, ok := keys[name]
		if !ok {
			return "", notFound(name, "the encrypted file "+a.path)
		}
		return key, nil
	})
}

// has is get without asking for a passphrase: ErrLocked if it would have to.
func (a *ageFile) has(ctx context.Context, name string) (found bool, err error) {
	_, err = a.run(ctx, func(uint64) (string, error) {
		keys, err := a.load(withoutAsking(ctx), 0)
		_, found = keys[name]
		return "", err
	})
	return err == nil && found, err
}

func (a *ageFile) set(ctx context.Context, name, key string) error {
	return a.change(ctx, func(keys map[string]string) error {
		keys[name] = key
		return nil
	})
}

func (a *ageFile) delete(ctx context.Context, name string) error {
	if !a.exists() {
		return notFound(name, "the encrypted file "+a.path)
	}
	return a.change(ctx, func(keys map[string]string) error {
		if _, ok := keys[name]; !ok {
			return notFound(name, "the encrypted file "+a.path)
		}
		delete(keys, name)
		return nil
	})
}

// change reads, edits and replaces the file under its lock. The lock is never held while a person is asked: the
// passphrase is found out before, and if another program has changed it meanwhile, everything starts again.
func (a *ageFile) change(ctx context.Context, edit func(map[string]string) error) error {
	const rounds = 3
	_, err := a.run(ctx, func(seen uint64) (string, error) {
		for range rounds {
			if _, err := a.load(ctx, seen); err != nil {
				return "", err
			}
			if err := a.prepare(ctx, seen); err != nil {
				return "", err
			}
			again, err := a.changeLocked(ctx, edit)
			if !again {
				return "", err
			}
		}
		return "", &Error{Kind: ErrLocked, What: fmt.Sprintf("the passphrase of %s keeps changing", a.path), Remedy: "close the other programs that use it"}
	})
	return err
}

func (a *ageFile) changeLocked(ctx context.Context, edit func(map[string]string) error) (again bool, err error) {
	if err := privateFolder(filepath.Dir(a.path)); err != nil {
		return false, err
	}
	lock := flock.New(a.path + ".lock")
	if err := lock.Lock(); err != nil {
		return false, fmt.Errorf("locking %s: %w", a.path, err)
	}
	defer func() { _ = lock.Close() }()
	if err := ctx.Err(); err != nil { // the caller may have gone while we waited for the lock
		return false, err
	}
	current, err := a.load(withoutAsking(ctx), 0)
	if errors.Is(err, errMustAsk) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	keys := maps.Clone(current)
	if err := edit(keys); err != nil {
		return false, err
	}
	plain, err := json.Marshal(keys)
	if err != nil {
		return false, fmt.Errorf("encoding credentials: %w", err)
	}
	sealed, err := a.seal(plain)
	if errors.Is(err, errMustAsk) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if len(sealed) > MaxAgeFile {
		return false, &Error{Kind: ErrTooBig, What: fmt.Sprintf("the encrypted file %s would exceed %d bytes", a.path, MaxAgeFile), Remedy: "delete credentials that are not used"}
	}
	if err := replaceFile(a.path, sealed); err != nil {
		return false, err
	}
	a.remember(sealed, keys)
	return false, nil
}

// load returns the content of the file, empty if there is none. The map must not be changed.
func (a *ageFile) load(ctx context.Context, seen uint64) (map[string]string, error) {
	sealed, err := readLimited(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, &Error{Kind: ErrUnavailable, What: "the encrypted credentials file cannot be read", Remedy: "correct its permissions, or move it away", Cause: err}
	}
	if a.proved && sha256.Sum256(sealed) == a.sum {
		return a.keys, nil
	}
	plain, err := a.open(ctx, seen, sealed)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	if err := json.Unmarshal(plain, &keys); err != nil {
		// The decoder's own text may quote what it stumbled over.
		return nil, &Error{Kind: ErrUnavailable, What: fmt.Sprintf("%s was decrypted, but is not a JSON object of names and keys", a.path), Remedy: "move it away; it was left as it is"}
	}
	for _, key := range keys {
		a.hide(key)
	}
	a.remember(sealed, keys)
	return keys, nil
}

func (a *ageFile) remember(sealed []byte, keys map[string]string) {
	a.sum, a.keys, a.proved = sha256.Sum256(sealed), keys, true
}

// run does f in the lane. seen is for lane.refusedSince.
func (a *ageFile) run(ctx context.Context, f func(seen uint64) (string, error)) (string, error) {
	seen := a.lane.seen()
	turn, err := a.lane.enter(ctx, 0)
	if err != nil {
		return "", err
	}
	key, held, err := a.lane.step(ctx, turn, 0, func() (string, error) { return f(seen) })
	if held {
		a.lane.leave(turn)
	}
	return key, err
}

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, MaxAgeFile+1))
	if err == nil && len(b) > MaxAgeFile {
		err = fmt.Errorf("%s is bigger than %d bytes", path, MaxAgeFile)
	}
	return b, err
}

func (a *ageFile) status() SourceStatus {
	s := SourceStatus{Source: SourceAge}
	identity := a.identity()
	switch {
	case a.path == "":
		s.Detail = "no path is set for it"
		return s
	case !a.exists() && identity == "":
		s.Detail = a.path + " does not exist; it can be made with a passphrase or with an identity file named in " + envIdentity
		return s
	}
	s.Available = true
	sealed, err := readLimited(a.path)
	byPassphrase := err == nil && isPassphraseFile(sealed)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		s.Available, s.Detail = false, err.Error()
	case byPassphrase:
		s.Locked = !a.opened.Load()
		s.Detail = a.path + ", encrypted with a passphrase"
		if s.Locked && a.ask == nil {
			s.Detail += ", which this program cannot ask for"
		}
	case identity == "":
		s.Locked = true
		s.Detail = a.path + " needs the identity file it was encrypted for; name it in " + envIdentity
	default:
		s.Detail = a.path + ", encrypted for the identity in " + identity + " (whoever can read that file can read the keys)"
		if warning := identityWarning(identity); warning != "" {
			s.Detail += "; " + warning
		}
		if _, err := readIdentity(identity); err != nil {
			s.Available, s.Detail = false, err.Error()
		}
	}
	return s
}
