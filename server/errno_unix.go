//go:build !windows

package server

import (
	"errors"
	"syscall"
)

func portInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
func portForbidden(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}
func addressMissing(error) bool { return false }
