package model

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"
)

// Sentences for failures that their class alone describes badly; %[1]s is the provider, %[2]s the model.
const (
	saysProxy       = "Could not reach the proxy on the way to provider '%[1]s'. Please check HTTP_PROXY and HTTPS_PROXY. (model: %[2]s)"
	saysUnreachable = "Could not connect to provider '%[1]s': the network is unreachable. Please check the network connection. (model: %[2]s)"
	saysCertificate = "Could not connect to provider '%[1]s' securely: its certificate was not accepted. Please check the provider's base_url, the clock of this computer, and whether a proxy or virus scanner changes secure connections. (model: %[2]s)"
	saysNoTLS       = "Could not connect to provider '%[1]s' securely: the service does not speak HTTPS. Please check whether its base_url should begin with http://. (model: %[2]s)"
	saysClosed      = "Provider '%[1]s' closed the connection before the answer was complete. Please try again. (model: %[2]s)"
	saysNoStream    = "Provider '%[1]s' sent something that is not a model's answer. Please check its base_url and its type in the configuration. (model: %[2]s)"
	saysLineTooLong = "Provider '%[1]s' sent a line of more than 16 MiB, which is the limit. Please ask for a shorter answer. (model: %[2]s)"
	saysTooLong     = "Provider '%[1]s' sent an answer of more than 32 MiB, which is the limit. Please ask for a shorter answer. (model: %[2]s)"
	saysFiltered    = "Provider '%[1]s' refused to answer for reasons of content. Please word the request differently. (model: %[2]s)"
)

// Errors of the stream itself.
var (
	errSilent     = errors.New("the provider was silent for too long")
	errUnfinished = errors.New("the stream ended before the answer did")
	errNoStream   = errors.New("the answer is no event stream")
	errTooLong    = errors.New("the answer is over 32 MiB")
	errFiltered   = errors.New("the answer was filtered")
)

// Windows' own numbers, which package syscall does not map to the portable names.
const (
	wsaNetUnreachable  = syscall.Errno(10051)
	wsaConnReset       = syscall.Errno(10054)
	wsaTimedOut        = syscall.Errno(10060)
	wsaConnRefused     = syscall.Errno(10061)
	wsaHostUnreachable = syscall.Errno(10065)
)

// classify decides the class of a failure that is not the caller's own cancellation, and its sentence where the one
// of the class would not do.
func classify(err error) (Class, string) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.class()
	}
	switch {
	case errors.Is(err, errSilent):
		return Timeout, ""
	case errors.Is(err, errUnfinished):
		return Overloaded, saysClosed
	case errors.Is(err, errNoStream):
		return Unknown, saysNoStream
	case errors.Is(err, errLineTooLong):
		return Unknown, saysLineTooLong
	case errors.Is(err, errTooLong):
		return Unknown, saysTooLong
	case errors.Is(err, errFiltered):
		return BadRequest, saysFiltered
	}
	return classifyNetwork(err)
}

func classifyNetwork(err error) (Class, string) {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return ConnectionRefused, saysProxy
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsTimeout {
			return Timeout, ""
		}
		return HostNotFound, ""
	}
	if untrusted(err) {
		return Unknown, saysCertificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return Unknown, saysNoTLS
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		switch {
		case slices.Contains([]syscall.Errno{syscall.ECONNREFUSED, wsaConnRefused}, errno):
			return ConnectionRefused, ""
		case slices.Contains([]syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, wsaNetUnreachable, wsaHostUnreachable}, errno):
			return ConnectionRefused, saysUnreachable
		case slices.Contains([]syscall.Errno{syscall.ETIMEDOUT, wsaTimedOut}, errno):
			return Timeout, ""
		case slices.Contains([]syscall.Errno{syscall.ECONNRESET, syscall.EPIPE, wsaConnReset}, errno):
			return Overloaded, saysClosed
		}
	}
	if ne, ok := errors.AsType[net.Error](err); (ok && ne.Timeout()) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Timeout, ""
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return Overloaded, saysClosed
	}
	return Unknown, ""
}

func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}

// plain removes the request's address from an error: it may hold more than a log should.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
