package config

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gofrs/flock"
)

// lockWait bounds how long an edit waits for others that hold the lock.
const lockWait = 5 * time.Second

// acquire takes the lock that programs of this kind respect while they change the file. The lock file stays: removing
// it would let two holders have different files of the same name. Where the wait ends first, the lock is given back
// as soon as it arrives.
func acquire(path string, wait time.Duration) (release func(), err error) {
	l := flock.New(path)
	taken := make(chan error, 1)
	go func() { taken <- l.Lock() }()
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case err := <-taken:
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: locking %s: %w", ErrUnwritable, path, err)
		}
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		return func() { _ = l.Unlock() }, nil
	case <-timeout.C:
		go func() {
			if <-taken == nil {
				_ = l.Unlock()
			}
		}()
		return nil, fmt.Errorf("%w: another program has held %s for %s; try again", ErrBusy, path, wait)
	}
}
