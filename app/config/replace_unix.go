//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of the one it replaces, as far as that is allowed: someone with more rights who
// changes a person's file must not take it away from them.
func keepOwner(f *os.File, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}

// syncDir makes a rename in a folder last through a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // a folder that may be written but not read cannot be synced; the file itself is
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !os.IsPermission(err) {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
