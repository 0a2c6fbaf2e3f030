package app

import (
	"errors"
	"fmt"

	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
)

// Code names a kind of failure for programs: it decides the HTTP status of the local API and the exit code of the
// command line. Codes are stable.
type Code string

// All codes there are.
const (
	CodeInternal        Code = "internal"
	CodeBadRequest      Code = "bad_request"
	CodeNotFound        Code = "not_found"
	CodeConflict        Code = "conflict"
	CodeBusy            Code = "busy"
	CodeUnauthorized    Code = "unauthorized"
	CodeForbidden       Code = "forbidden"
	CodeInvalidConfig   Code = "invalid_config"
	CodeAlreadyRunning  Code = "already_running"
	CodePortInUse       Code = "port_in_use"
	CodeNoCredential    Code = "no_credential"
	CodeNotRunning      Code = "not_running"
	CodeUnavailable     Code = "unavailable"
	CodeStorage         Code = "storage"
	CodeTooLarge        Code = "too_large"
	CodeUnsupportedType Code = "unsupported_media_type"
	CodeMethod          Code = "method_not_allowed"
)

// codes is the one table from code to HTTP status and exit code.
var codes = map[Code]struct{ status, exit int }{
	CodeInternal:        {500, 1},
	CodeBadRequest:      {400, 2},
	CodeNotFound:        {404, 1},
	CodeConflict:        {409, 1},
	CodeBusy:            {429, 1},
	CodeUnauthorized:    {401, 5},
	CodeForbidden:       {403, 1},
	CodeInvalidConfig:   {400, 2},
	CodeAlreadyRunning:  {409, 3},
	CodePortInUse:       {409, 4},
	CodeNoCredential:    {409, 5},
	CodeNotRunning:      {503, 6},
	CodeUnavailable:     {503, 1},
	CodeStorage:         {507, 1},
	CodeTooLarge:        {413, 2},
	CodeUnsupportedType: {415, 2},
	CodeMethod:          {405, 2},
}

// HTTPStatus returns the status with which the local API answers this code.
func (c Code) HTTPStatus() int { return codes[c.known()].status }

// ExitCode returns the exit code of the command line.
func (c Code) ExitCode() int { return codes[c.known()].exit }

func (c Code) known() Code {
	if _, ok := codes[c]; ok {
		return c
	}
	return CodeInternal
}

// Error is a failure for people and programs: what happened and why (Message), and what to do (Hint).
type Error struct {
	Code    Code
	Message string
	Hint    string
	Err     error
}

// Error returns message and hint as one text.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// AsError gives every error of the core its code. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	for _, k := range []struct {
		is   error
		code Code
		hint string
	}{
		{session.ErrBadKey, CodeBadRequest, ""},
		{store.ErrBadCursor, CodeBadRequest, "list from the beginning, without a cursor"},
		{store.ErrInvalid, CodeBadRequest, ""},
		{store.ErrClosed, CodeUnavailable, "the program is stopping; try again when it has started"},
		{store.ErrDamaged, CodeStorage, "start the program again; it sets a damaged database aside"},
		{store.ErrNotFound, CodeNotFound, ""},
		{store.ErrInUse, CodeAlreadyRunning, "use the running one, or stop it first"},
		{store.ErrNewer, CodeConflict, ""},
		{agent.ErrBusy, CodeBusy, ""},
		{agent.ErrUnknownAgent, CodeNotFound, ""},
		{agent.ErrEmptyMessage, CodeBadRequest, ""},
		{agent.ErrClosing, CodeUnavailable, ""},
		{config.ErrInvalid, CodeInvalidConfig, ""},
		{config.ErrUnreadable, CodeInvalidConfig, "check the permissions of the file and its folder"},
		{config.ErrRefused, CodeConflict, "change the file with an editor"},
		{config.ErrUnwritable, CodeStorage, "check the permissions of the file and its folder"},
		{config.ErrBusy, CodeConflict, "try again"},
		{secret.ErrNotFound, CodeNoCredential, ""},
		{secret.ErrUnavailable, CodeNoCredential, ""},
		{secret.ErrLocked, CodeNoCredential, ""},
		{secret.ErrTimeout, CodeNoCredential, ""},
		{secret.ErrTooBig, CodeTooLarge, ""},
		{secret.ErrReadOnly, CodeConflict, ""},
		{secret.ErrInvalid, CodeBadRequest, ""},
		{secret.ErrMismatch, CodeNoCredential, ""},
	} {
		if errors.Is(err, k.is) {
			return &Error{Code: k.code, Message: err.Error(), Hint: k.hint, Err: err}
		}
	}
	return &Error{Code: CodeInternal, Message: err.Error(), Err: err}
}

// PortError gives a failure to listen its code.
func PortError(err error) *Error {
	return &Error{Code: CodePortInUse, Message: err.Error(), Err: err}
}
