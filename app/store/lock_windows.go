package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockByte is the byte that bbolt locks, far behind the end of any file.
func lockByte() *windows.Overlapped {
	const last = ^uint32(0)
	return &windows.Overlapped{Offset: last, OffsetHigh: last}
}

// tryLock takes the lock that bbolt takes. It reports false when another program holds it.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// handOver releases the lock for bbolt, which takes it again at once: the same handle cannot hold it twice.
func handOver(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockByte())
}

// renameOpen tells that an open file cannot be renamed.
const renameOpen = false
