package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/server"
)

type serveOptions struct {
	*cli
	port int
	log  bool
}

func (c *cli) serve() *cobra.Command {
	o := &serveOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until it is told to stop",
		Long: `Run the MCP endpoint and the local API on this computer until Ctrl-C or a termination signal.

Running turns are then stopped and everything is stored; that takes at most five seconds. A second signal ends the
process at once.`,
		Args: operands(),
	}
	cmd.Flags().IntVar(&o.port, "port", 0, "listen on this `port` instead of server.port; 0 picks a free one")
	cmd.Flags().BoolVar(&o.log, "log", false, "write the log to standard error as well")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opt := server.Options{Paths: c.paths(), Version: c.Version, OnReady: o.ready}
		if cmd.Flags().Changed("port") {
			if o.port < 0 || o.port > 65535 {
				return &app.Error{Code: app.CodeBadRequest, Message: fmt.Sprintf("--port %d is no port", o.port), Hint: "use 1 to 65535, or 0 for a free one"}
			}
			opt.Port = &o.port
		}
		if o.log {
			opt.LogTo = c.Err
		}
		if c.InTerm {
			opt.Passphrase = c.passphrase
		}
		return o.run(cmd.Context(), opt)
	}
	return cmd
}

// errSignal ends the server when the process is told to.
var errSignal = errors.New("told to stop")

func (o *serveOptions) run(ctx context.Context, opt server.Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals, stop := o.Signals()
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go o.watch(signals, ended, cancel)
	err := o.Serve(ctx, opt)
	if errors.Is(context.Cause(ctx), errSignal) && (errors.Is(err, context.Canceled) || errors.Is(err, errSignal)) {
		return nil // ended as it was told
	}
	return err
}

// watch ends the server at the first signal and the process at the second.
func (o *serveOptions) watch(signals <-chan os.Signal, ended <-chan struct{}, cancel context.CancelCauseFunc) {
	for n := 1; ; n++ {
		select {
		case <-ended:
			return
		case <-signals:
		}
		if n > 1 {
			o.Exit(app.CodeInternal.ExitCode())
			return
		}
		o.note("Stopping.")
		cancel(errSignal)
	}
}
