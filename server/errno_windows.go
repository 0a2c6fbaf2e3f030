package server

import (
	"errors"
	"syscall"
)

// Windows Sockets has numbers of its own; syscall.EADDRINUSE and its like are
// placeholders there that no system call returns.
const (
	wsaEACCES        = syscall.Errno(10013)
	wsaEAFNOSUPPORT  = syscall.Errno(10047)
	wsaEADDRINUSE    = syscall.Errno(10048)
	wsaEADDRNOTAVAIL = syscall.Errno(10049)
)

func portInUse(err error) bool     { return errors.Is(err, wsaEADDRINUSE) }
func portForbidden(err error) bool { return errors.Is(err, wsaEACCES) }
func addressMissing(err error) bool {
	return errors.Is(err, wsaEAFNOSUPPORT) || errors.Is(err, wsaEADDRNOTAVAIL)
}
