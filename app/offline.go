package app

import (
	"log/slog"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/secret"
)

// OpenOffline gives the part of the core that works while the program is not running: the methods about credentials
// and agents' settings, and Config. There is no database, no turn and no watching, so nothing needs closing; chats and
// tasks are read through store.OpenReadOnly. Paths and Config are required, as in Open.
func OpenOffline(o Options) *App {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = secret.NewRedactor()
	}
	if o.Vault == nil {
		o.Vault = secret.New(secret.Options{AgePath: o.Paths.AgeFile(), Redactor: o.Redact, Log: o.Log})
	}
	a := &App{opt: o, log: o.Log, file: o.Config, vault: o.Vault, events: event.NewBus()}
	a.bearer = newBearer(a)
	return a
}
