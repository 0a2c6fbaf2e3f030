package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/tool"
	"ionclaw-tray/server/channel"
	"ionclaw-tray/server/rest"
)

// ShutdownTime is how long the end of the program may take: cancelling turns, storing their final states, closing.
const ShutdownTime = 5 * time.Second

// requestsTime is the part of it in which clients get their last answers. The rest is for what has to be on disk.
const requestsTime = 3 * time.Second

// Options say what Run runs.
type Options struct {
	Paths   app.Paths
	Version string
	Port    *int        // instead of server.port; 0 picks a free one
	OnReady func(Ready) // called once the endpoint answers
	LogTo   io.Writer   // further place for the log; nil: the file only
	Tools   []tool.Tool // further tools for agents
	// Passphrase asks for the passphrase of the encrypted credentials file; nil: nobody can be asked.
	Passphrase func(context.Context) (string, error)
	// OnApp gets the core before the server serves. A desktop hangs its windows on it.
	OnApp func(*app.App)
}

// Ready says how the program can be reached.
type Ready struct {
	URL         string    `json:"url"`     // of the MCP endpoint
	Running     bool      `json:"running"` // the MCP channel is open
	RequireAuth bool      `json:"require_auth"`
	Credential  string    `json:"credential,omitempty"`
	Paths       app.Paths `json:"paths"`
	Warnings    []string  `json:"warnings,omitempty"`
	Problem     string    `json:"problem,omitempty"` // why the channel is closed although it is enabled
}

// Run runs the whole program without windows until ctx ends, and then stops it within ShutdownTime. The order at the
// start keeps mistakes cheap: configuration, then port, then database. Whatever is wrong with the first two has
// changed nothing on disk. Errors are *app.Error.
func Run(ctx context.Context, o Options) error {
	file, err := config.Open(o.Paths.Config)
	if err != nil {
		return app.AsError(err)
	}
	l, err := listenFor(o, file.Config())
	if err != nil {
		return err
	}
	redact := secret.NewRedactor()
	log, logFile, err := secret.OpenLog(o.Paths.Log, redact)
	if err != nil {
		return errors.Join(&app.Error{Code: app.CodeStorage, Message: fmt.Sprintf("the log cannot be opened: %v", err), Hint: "check the permissions of the folder", Err: err}, l.Close())
	}
	defer logFile.Close() //nolint:errcheck // nobody is left to tell
	if o.LogTo != nil {
		log = slog.New(slog.NewMultiHandler(log.Handler(), redact.Handler(slog.NewTextHandler(o.LogTo, nil))))
	}
	vault := secret.New(secret.Options{AgePath: o.Paths.AgeFile(), Passphrase: o.Passphrase, Redactor: redact, Log: log})
	a, err := app.Open(ctx, app.Options{Paths: o.Paths, Config: file, Version: o.Version, Log: log, Redact: redact, Vault: vault, Tools: o.Tools})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return serve(ctx, o, a, l, log)
}

// listenFor takes the port. When it is taken by another instance on the same data folder, that is what it says.
func listenFor(o Options, cfg *config.Config) (*Listeners, error) {
	port := cfg.Server.Port
	if o.Port != nil {
		port = *o.Port
	}
	l, err := Listen(cfg.Server.Host, port)
	if err == nil {
		return l, nil
	}
	probe, inUse := store.OpenReadOnly(o.Paths.Database())
	if errors.Is(inUse, store.ErrInUse) {
		return nil, app.AlreadyRunning(o.Paths, inUse)
	}
	if inUse == nil {
		_ = probe.Close()
	}
	return nil, app.PortError(err)
}

func serve(ctx context.Context, o Options, a *app.App, l *Listeners, log *slog.Logger) error {
	token := app.NewAPIToken()
	mcp := channel.New(a, l.URL)
	a.SetChannel(mcp)
	srv := New(Mount(mcp, rest.New(a, token, log), log), log)
	if o.OnApp != nil {
		o.OnApp(a)
	}
	ready := Ready{RequireAuth: a.Config().Channels.MCP.RequireAuth, Credential: a.Config().Channels.MCP.Credential, Paths: o.Paths}
	if a.Config().Channels.MCP.Enabled {
		if err := a.StartMCP(ctx); err != nil {
			ready.Problem = err.Error()
		}
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()

	err := app.WriteInstance(o.Paths.Instance, app.Instance{PID: a.PID(), BaseURL: l.URL(), Token: token, Version: o.Version})
	if err != nil {
		log.Error("the instance file could not be written; the command line will not find this program", "err", err)
		ready.Warnings = append(ready.Warnings, err.Error())
	}
	if w := l.Warning(); w != nil {
		ready.Warnings = append(ready.Warnings, w.Error())
	}
	for _, p := range a.Problems() {
		if p.Text != ready.Problem {
			ready.Warnings = append(ready.Warnings, p.About+": "+p.Text)
		}
	}
	ready.URL, ready.Running = mcp.URL(), mcp.Running()
	log.Info("ready", "url", ready.URL, "mcp", ready.Running, "version", o.Version)
	if o.OnReady != nil {
		o.OnReady(ready)
	}

	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
	}
	return errors.Join(err, stop(o, a, mcp, srv, log))
}

// stop ends everything in the order that loses nothing: no new requests, then the turns with their final states, then
// the database.
func stop(o Options, a *app.App, mcp *channel.Channel, srv *Server, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), ShutdownTime)
	defer cancel()
	log.Info("stopping")
	mcp.Close()
	requests, cut := context.WithTimeout(ctx, requestsTime)
	defer cut()
	err := errors.Join(srv.Shutdown(requests), a.Close(ctx), app.RemoveInstance(o.Paths.Instance))
	if err != nil {
		log.Error("stopping was not clean", "err", err)
	}
	log.Info("stopped")
	return err
}
