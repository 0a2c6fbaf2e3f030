package store

import (
	"fmt"
	"os"
	"time"
)

const (
	// LockTimeout is how long Open waits for another program to let go of the database.
	LockTimeout = 500 * time.Millisecond
	// lockInterval is the time between two tries; the system offers no wait with an end.
	lockInterval = 25 * time.Millisecond
)

// openLocked opens the file at path and locks it. The lock is the truth about who uses the database; the kernel
// releases it when a program dies. Another program may have moved the file away before the lock was free, so the
// result is sure to be what path names now.
func openLocked(path string, flag int, exclusive bool) (*os.File, error) {
	deadline := time.NewTimer(LockTimeout)
	defer deadline.Stop()
	retry := time.NewTicker(lockInterval)
	defer retry.Stop()
	for {
		f, err := os.OpenFile(path, flag, 0o600)
		if err != nil {
			return nil, err
		}
		locked, err := tryLock(f, exclusive)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", path, joinClose(err, f))
		}
		if locked && names(path, f) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		select {
		case <-retry.C:
		case <-deadline.C:
			return nil, fmt.Errorf("%w: %s", ErrInUse, path)
		}
	}
}

// names reports whether path is this very file.
func names(path string, f *os.File) bool {
	a, err1 := f.Stat()
	b, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}
