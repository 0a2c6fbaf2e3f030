//go:build !windows

package store

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock that bbolt takes, on the same descriptor: bbolt's own call then finds it held by itself.
// It reports false when another program holds it.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// handOver prepares the lock for bbolt, which takes it again. Nothing to do: the same descriptor may.
func handOver(*os.File) error { return nil }

// renameOpen tells that an open file can be renamed, so that it stays locked meanwhile.
const renameOpen = true
