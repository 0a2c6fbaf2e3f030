package app

// OpenOffline gives the part of the core that works while the program is not running: the methods about credentials
// and agents' settings, and Config. There is no database, no turn and no watching, so nothing needs closing; chats and
// tasks are read through store.OpenReadOnly. Paths and Config are required, as in Open.
func OpenOffline(o Options) *App { return base(o) }
