package model

import (
	"log/slog"
	"maps"
	"slices"

	"ionclaw-tray/app/config"
)

// NewRouter makes a router for all providers of a configuration: those that it names, and the built-in ones that need
// no entry. keys reads the key of a credential.
func NewRouter(cfg *config.Config, keys KeyFunc, log *slog.Logger) *Router {
	names := make(map[string]bool)
	for name := range config.BuiltinProviders {
		names[name] = true
	}
	for name := range cfg.Providers {
		names[name] = true
	}
	var providers []ProviderConfig
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, _ := cfg.Provider(name)
		if p.Type == config.StyleBuiltin || p.BaseURL == "" {
			continue
		}
		known := config.BuiltinProviders[name]
		providers = append(providers, ProviderConfig{
			Name: name, BaseURL: p.BaseURL, Style: Style(p.Type), Credential: p.Credential,
			// Behind an address of one's own there may be a proxy that knows the key.
			NeedsKey: known.KeyEnv != "" && p.BaseURL == known.BaseURL,
		})
	}
	return New(providers, keys, log)
}
