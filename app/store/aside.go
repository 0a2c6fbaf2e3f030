package store

import (
	"errors"
	"fmt"
	"os"
)

// corruptLayout is the time in the name of a damaged database.
const corruptLayout = "20060102T150405Z"

// moveAside renames the damaged file, which is never deleted, and lets it go. Where the system allows, the lock is
// held until the name is free, so that nobody else picks the damaged file up meanwhile.
func (s *Store) moveAside() (string, error) {
	if !renameOpen {
		if err := s.file.Close(); err != nil {
			return "", err
		}
	}
	target, err := rename(s.path, s.path+".corrupt-"+s.opt.now().UTC().Format(corruptLayout))
	if renameOpen {
		err = joinClose(err, s.file)
	}
	s.file = nil
	return target, err
}

// maxSameName bounds the damaged databases that are set aside within one second.
const maxSameName = 100

// rename moves a file to a name that is still free: target, else target-2, target-3, …
func rename(path, target string) (string, error) {
	for i := 1; i <= maxSameName; i++ {
		name := target
		if i > 1 {
			name = fmt.Sprintf("%s-%d", target, i)
		}
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name, os.Rename(path, name)
		}
	}
	return "", fmt.Errorf("%s: %w", target, os.ErrExist)
}
