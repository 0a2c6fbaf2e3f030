package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files beside the configuration file.
const (
	lockSuffix = ".lock"
	tempSuffix = ".tmp"
)

// hash identifies the content of a file.
type hash [sha256.Size]byte

func hashOf(data []byte) hash { return sha256.Sum256(data) }

// errChanged says that the file is not what the edit was made for.
var errChanged = errors.New("the file has changed")

// replaceFile puts data where the file is, if that still holds old. Readers see the one or the other, also after a crash.
// Mode and owner stay. The caller holds the lock.
func replaceFile(path string, old, data []byte, read func(string) ([]byte, error)) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	temp, err := writeTemp(path, data, func(f *os.File) error {
		keepOwner(f, info)
		return f.Chmod(info.Mode().Perm())
	})
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if now, err := read(path); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	} else if !bytes.Equal(now, old) {
		return errChanged
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return syncDir(filepath.Dir(path))
}

// createFile writes a file that must not exist; fs.ErrExist says that it does.
func createFile(path string, data []byte) error {
	temp, err := writeTemp(path, data, func(f *os.File) error { return f.Chmod(0o600) })
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	err = os.Link(temp, path) // unlike a rename it never replaces
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// The file system knows no hard links.
		if _, serr := os.Lstat(path); serr == nil {
			return fs.ErrExist
		}
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes a file beside path and makes sure it is on the disk.
func writeTemp(path string, data []byte, prepare func(*os.File) error) (name string, err error) {
	dir, base := filepath.Split(path)
	prefix := "." + base + "."
	sweep(dir, prefix)
	f, err := os.CreateTemp(dir, prefix+"*"+tempSuffix)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, prepare(f), f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return f.Name(), nil
}

// sweep removes what a crash between writing and renaming left behind. The lock keeps those of others out of reach.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the folder may be written without being listed
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), tempSuffix) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
