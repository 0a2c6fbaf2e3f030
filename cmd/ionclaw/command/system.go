// Package command holds the commands of the ionclaw program.
//
// A command talks to the running program over its local API (package client). Reading commands fall back to what the
// program left on disk, and credentials and agents can be changed there too, by the same methods of the core. Every
// command returns an error; [Main] is the one place that prints it and turns it into an exit code.
//
// One file holds one command: an options struct, a constructor that declares flags and arguments, and a run method.
package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"ionclaw-tray/app"
	"ionclaw-tray/server"
)

// System is what a command knows of the world around it. Tests bring their own.
type System struct {
	In                       io.Reader
	Out, Err                 io.Writer
	InTerm, OutTerm, ErrTerm bool // a person sits at that end

	// Secret reads one line from the terminal without showing it. Only called when InTerm is set.
	Secret func() (string, error)
	// Paths says where things are; both arguments may be empty.
	Paths func(configFile, dataDir string) app.Paths
	// Serve runs the server until ctx ends.
	Serve func(ctx context.Context, o server.Options) error
	// Signals delivers Ctrl-C and termination until stop is called.
	Signals func() (c <-chan os.Signal, stop func())
	// Exit ends the process at once.
	Exit func(code int)

	Now     func() time.Time
	Zone    *time.Location
	Version string
}

// RealSystem is the system of this process.
func RealSystem(version string) System {
	return System{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerm: isTerminal(os.Stdin), OutTerm: isTerminal(os.Stdout), ErrTerm: isTerminal(os.Stderr),
		Secret:  readSecret,
		Paths:   app.DefaultPaths,
		Serve:   server.Run,
		Signals: notify,
		Exit:    os.Exit,
		Now:     time.Now,
		Zone:    time.Local,
		Version: version,
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// readSecret reads a line without showing it. Ctrl-C ends the program, with the terminal as it was: without care it
// would go on hiding what is typed.
func readSecret() (string, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	signals, stop := notify()
	defer stop()
	read := make(chan struct{})
	defer close(read)
	go func() {
		select {
		case <-read:
		case <-signals:
			_ = term.Restore(fd, before) // the process ends either way
			os.Exit(app.CodeInternal.ExitCode())
		}
	}()
	line, err := term.ReadPassword(fd)
	return string(line), err
}

func notify() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2) // the second one must not be lost while the first is handled
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}
