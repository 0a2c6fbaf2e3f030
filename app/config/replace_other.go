//go:build !unix

package config

import (
	"io/fs"
	"os"
)

// keepOwner has nothing to do: new files inherit the folder's rights.
func keepOwner(*os.File, fs.FileInfo) {}

// syncDir has nothing to do: folders cannot be synced.
func syncDir(string) error { return nil }
