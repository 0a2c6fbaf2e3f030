// Package app is the core of IonClaw Tray: configuration, credentials, models, agents, chats and tasks, behind the
// methods of one type. The desktop, the local API, the command line and the MCP tools all call the same methods.
//
// Data flows one way. A face calls a method; the method works on the parts below (config, secret, store, agent); what
// happened comes back to every face as events. The configuration file is the only source for agents, providers and
// channels; the database never copies it.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/tool"
)

// interruptedByCrash is the reason that tasks carry which a former run left unfinished.
const interruptedByCrash = "Interrupted: the program ended before the answer was complete. Send the message again if you still want an answer."

// Options say where things are and who is asked. Paths and Config are required.
type Options struct {
	Paths   Paths
	Config  *config.File
	Version string
	Log     *slog.Logger     // default: discard
	Vault   *secret.Vault    // default: one that knows no passphrase
	Tools   []tool.Tool      // beside the built-in ones
	Redact  *secret.Redactor // used by the default vault
}

// App is the core. It is built once by Open and owns everything below it. All methods are safe for concurrent use.
type App struct {
	opt     Options
	log     *slog.Logger
	file    *config.File
	vault   *secret.Vault
	store   *store.Store
	events  *event.Bus
	tools   *tool.Set
	agents  *agent.Runtime
	bearer  *Bearer
	started time.Time

	router  atomic.Pointer[model.Router]
	inForce atomic.Pointer[config.Config] // what the router was made for
	channel atomic.Pointer[channelBox]

	mu             sync.Mutex
	configError    string // why the file on disk is not in force; "" when it is
	channelProblem string // why the MCP channel did not start

	stopWatch context.CancelFunc
	watched   sync.WaitGroup
}

// Open opens the database, marks what a former run left unfinished, and starts to watch the configuration.
// A second program on the same data folder gets an error with CodeAlreadyRunning within a second.
func Open(ctx context.Context, o Options) (*App, error) {
	a := base(o)
	tools, err := tool.NewSet(append([]tool.Tool{tool.Clock{}}, o.Tools...)...)
	if err != nil {
		return nil, err
	}
	a.tools = tools
	if a.store, err = store.Open(o.Paths.Database(), store.Options{Notify: a.events.Publish, Log: a.log}); err != nil {
		return nil, a.openError(err)
	}
	if moved := a.store.Recovered(); moved != "" {
		a.log.Error("the database was damaged and has been set aside", "kept as", moved)
	}
	n, err := a.store.InterruptTasks(interruptedByCrash)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("marking interrupted tasks: %w", err), a.store.Close())
	}
	if n > 0 {
		a.log.Warn("tasks of the former run were interrupted", "count", n)
	}
	a.useConfig()
	a.agents = agent.New(agent.Options{
		Store: a.store, Events: a.events, Tools: a.tools, Log: a.log,
		Config: a.file.Config,
		Models: func() agent.Models { return a.router.Load() },
	})
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stopWatch = stop
	a.watched.Go(func() { a.watchConfig(watch) })
	return a, nil
}

// base is what a running and a resting program have in common: settings, keys and events.
func base(o Options) *App {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = secret.NewRedactor()
	}
	if o.Vault == nil {
		o.Vault = secret.New(secret.Options{AgePath: o.Paths.AgeFile(), Redactor: o.Redact, Log: o.Log})
	}
	a := &App{opt: o, log: o.Log, file: o.Config, vault: o.Vault, events: event.NewBus(), started: time.Now()}
	a.bearer = newBearer(a)
	return a
}

// openError words a database that cannot be opened for the person who started the program.
func (a *App) openError(err error) error {
	if errors.Is(err, store.ErrInUse) {
		return AlreadyRunning(a.opt.Paths, err)
	}
	if errors.Is(err, store.ErrNewer) {
		return &Error{Code: CodeConflict, Message: err.Error(), Hint: "install the newer version, or start with another data folder (--data-dir)", Err: err}
	}
	return &Error{Code: CodeStorage, Message: fmt.Sprintf("the database %s cannot be opened: %v", a.opt.Paths.Database(), err), Hint: "check the folder's permissions and free space, or start with another data folder (--data-dir)", Err: err}
}

// AlreadyRunning says who uses the data folder.
func AlreadyRunning(p Paths, err error) *Error {
	e := fail(CodeAlreadyRunning, `use the running one ("ionclaw status"), stop it first, or start with another data folder (--data-dir)`,
		"another IonClaw uses the data folder %s already", p.Data)
	if in, ierr := ReadInstance(p.Instance); ierr == nil {
		e.Message += fmt.Sprintf(" (process %d, %s)", in.PID, in.BaseURL)
	}
	e.Err = err
	return e
}

// Close refuses new messages, interrupts what runs, stores its final state and closes the database.
func (a *App) Close(ctx context.Context) error {
	a.stopWatch()
	a.watched.Wait()
	err := a.agents.Close(ctx)
	return errors.Join(err, a.store.Close())
}

func (a *App) watchConfig(ctx context.Context) {
	err := a.file.Watch(ctx, func(_ *config.Config, err error) {
		if err != nil {
			a.log.Error("the changed configuration is not valid; the former one stays in force", "err", err)
			a.setConfigError(err.Error())
			a.events.Publish(event.ConfigRejected{Error: err.Error()})
			return
		}
		a.useConfig()
		a.log.Info("configuration applied", "file", a.file.Path())
	})
	if err != nil && ctx.Err() == nil {
		a.log.Error("watching the configuration failed; changes need a restart", "err", err)
		a.setConfigError("changes of the file are not noticed: " + err.Error())
	}
}

func (a *App) setConfigError(text string) {
	a.mu.Lock()
	a.configError = text
	a.mu.Unlock()
}

// useConfig puts the configuration of the file in force. An edit of the app's own comes here twice, at once and when
// the file is seen to have changed; the second time there is nothing to do.
func (a *App) useConfig() {
	a.setConfigError("")
	cfg := a.file.Config()
	if a.inForce.Swap(cfg) == cfg {
		return
	}
	a.router.Store(model.NewRouter(cfg, a.key, a.log))
	a.bearer.configured()
	a.events.Publish(event.ConfigChanged{})
	if c := a.Channel(); c != nil {
		c.Apply()
	}
}

// key reads a credential for a model provider.
func (a *App) key(ctx context.Context, name string) (string, error) {
	s, err := a.vault.Get(ctx, name)
	return s.Key, err
}

// edit changes the configuration file and puts the result in force.
func (a *App) edit(edits ...config.Edit) error {
	if err := a.file.Edit(edits...); err != nil {
		return err
	}
	a.useConfig()
	return nil
}

// Config is the configuration in force. It is never changed; a later one is another value.
func (a *App) Config() *config.Config { return a.file.Config() }

// ConfigPath is the configuration file.
func (a *App) ConfigPath() string { return a.file.Path() }

// Events is where everything that happens can be watched.
func (a *App) Events() *event.Bus { return a.events }

// Store is the database, for those who keep records of their own in it.
func (a *App) Store() *store.Store { return a.store }

// Log is the program's log; it holds no secrets.
func (a *App) Log() *slog.Logger { return a.log }

// Version is the version of the program.
func (a *App) Version() string { return a.opt.Version }

// Bearer checks the token of the MCP endpoint.
func (a *App) Bearer() *Bearer { return a.bearer }
