package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrInvalid is in every error about the content of a configuration.
	ErrInvalid = errors.New("the configuration is not valid")
	// ErrBusy says that others kept changing or locking the file; nothing was written.
	ErrBusy = errors.New("the configuration file is in use")
	// ErrUnreadable says that the file or its folder cannot be read.
	ErrUnreadable = errors.New("the configuration file cannot be read")
	// ErrUnwritable says that the file or its folder cannot be written; the file is as it was.
	ErrUnwritable = errors.New("the configuration file cannot be written")
	// ErrRefused says that an edit cannot be made without touching more than it names; the file is as it was.
	ErrRefused = errors.New("the edit is refused")
)

// Error is one problem at one place. It matches ErrInvalid.
type Error struct {
	File    string // as given to Parse
	Line    int    // from 1; 0 if the problem has no place
	Column  int    // from 1, in characters
	Message string // what is wrong
	Hint    string // what to do; "" if that is plain
}

// Error is "config.yml:12:3: message; hint".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Is makes every Error an ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Errors are all problems of a configuration in the order of the text, at least one. It matches ErrInvalid, and
// errors.As finds the first *Error.
type Errors []*Error

// Error has one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the problems one by one.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, p := range e {
		list[i] = p
	}
	return list
}

// MaxProblems bounds how many problems of one file are listed; one more line then says how many follow.
const MaxProblems = 100

// problems collects while a file is read. A node that is reached twice through an alias is reported once.
type problems struct {
	file string
	list Errors
	seen map[Error]bool
}

func (p *problems) add(line, column int, hint, format string, args ...any) {
	e := Error{File: p.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint}
	if p.seen[e] {
		return
	}
	if p.seen == nil {
		p.seen = map[Error]bool{}
	}
	p.seen[e] = true
	p.list = append(p.list, &e)
}

// err is nil without problems, else Errors in the order of the text.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(p.list) - MaxProblems; more > 0 {
		return append(p.list[:MaxProblems:MaxProblems], &Error{File: p.file, Message: fmt.Sprintf("and %d more problems", more)})
	}
	return p.list
}
