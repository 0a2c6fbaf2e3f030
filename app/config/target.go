package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds a chain of symbolic links, as kernels do.
const maxLinks = 40

// place is a name in a folder whose change may change what the file is.
type place struct{ dir, name string }

func (p place) path() string { return filepath.Join(p.dir, p.name) }

// trace follows path through its symbolic links. It returns the file they lead to, which need not exist, and every name
// that was looked up on the way and is a link, the file itself or its folder.
func trace(path string) (target string, places []place, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", nil, fmt.Errorf("finding %s: %w", path, err)
	}
	volume := filepath.VolumeName(path) + string(filepath.Separator)
	at, rest := volume, split(path[len(volume):])
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if len(rest) <= 1 || err == nil && info.Mode()&fs.ModeSymlink != 0 {
			places = append(places, place{at, name})
		}
		if err != nil {
			// The rest cannot be looked up; reading it will say why.
			return filepath.Join(append([]string{next}, rest...)...), places, nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, fmt.Errorf("%w: %s goes through more than %d symbolic links", ErrUnreadable, path, maxLinks)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", nil, fmt.Errorf("%w: reading the link %s: %w", ErrUnreadable, next, err)
		}
		if filepath.IsAbs(to) {
			at = filepath.VolumeName(to) + string(filepath.Separator)
			to = to[len(at):]
		}
		rest = append(split(to), rest...)
	}
	return at, places, nil
}

// split cuts a path into names, without empty ones and ".".
func split(path string) []string {
	var names []string
	for _, n := range strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		if n != "." {
			names = append(names, n)
		}
	}
	return names
}
