package secret

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Modes of everything this package makes.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// privateFolder makes a folder that only its owner can enter. One that is there already stays as it is.
func privateFolder(path string) error {
	if err := os.MkdirAll(path, folderMode); err != nil {
		return fmt.Errorf("making a private folder: %w", err)
	}
	return nil
}

// replaceFile replaces a file in one step: after a crash it is the old one or the new one. A symbolic link stays one.
func replaceFile(path string, content []byte) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // made with 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename durable. Windows has no such call and does it by itself.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
