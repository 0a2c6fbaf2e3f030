package app

import (
	"context"
	"errors"
	"maps"
	"slices"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/secret"
)

// CredentialInfo says what is known of a credential without its key.
type CredentialInfo struct {
	Name    string        `json:"name"`
	Type    string        `json:"type"`
	Source  secret.Source `json:"source,omitempty"` // where the key is kept
	UsedBy  []string      `json:"used_by,omitempty"`
	Problem string        `json:"problem,omitempty"` // why there is no usable key
}

// Credentials lists the configured credentials by name. It reads no keys where the source allows that.
func (a *App) Credentials(ctx context.Context) []CredentialInfo {
	cfg := a.Config()
	list := make([]CredentialInfo, 0, len(cfg.Credentials))
	for _, name := range slices.Sorted(maps.Keys(cfg.Credentials)) {
		info := CredentialInfo{Name: name, Type: cfg.Credentials[name].Type, UsedBy: credentialUsers(cfg, name)}
		var err error
		if info.Source, err = a.vault.Where(ctx, name); err != nil {
			info.Problem = err.Error()
		}
		list = append(list, info)
	}
	return list
}

func credentialUsers(cfg *config.Config, name string) []string {
	var users []string
	if cfg.Channels.MCP.Credential == name {
		users = append(users, "channels.mcp")
	}
	for _, p := range slices.Sorted(maps.Keys(cfg.Providers)) {
		if cfg.Providers[p].Credential == name {
			users = append(users, "providers."+p)
		}
	}
	return users
}

// SetCredential stores a key and adds the credential to the configuration if it is new there.
func (a *App) SetCredential(ctx context.Context, name, key string) error {
	if !config.ValidCredentialName(name) {
		return fail(CodeBadRequest, "use 1 to 64 letters, digits, '_', '-' or '.'", "%q cannot be the name of a credential", name)
	}
	if key == "" {
		return fail(CodeBadRequest, "", "the key is empty")
	}
	if err := a.vault.Set(ctx, name, key); err != nil {
		return err
	}
	if _, known := a.Config().Credentials[name]; !known {
		if err := a.edit(config.Edit{Path: []string{"credentials", name, "type"}, Value: config.CredentialSimple}); err != nil {
			return err
		}
	}
	if a.Config().Channels.MCP.Credential == name {
		a.bearer.rotate(ctx)
	}
	return nil
}

// GenerateCredential makes a new random key for a credential, stores it and returns it. A key that was there before
// opens the MCP endpoint for the grace period of the configuration, beside the new one.
func (a *App) GenerateCredential(ctx context.Context, name string) (string, error) {
	key := secret.Generate()
	return key, a.SetCredential(ctx, name, key)
}

// RevealCredential returns the key. Callers show it to a person who asked for it, and nowhere else.
func (a *App) RevealCredential(ctx context.Context, name string) (string, error) {
	s, err := a.vault.Get(ctx, name)
	return s.Key, err
}

// DeleteCredential removes the key and the entry of the configuration, unless something uses it.
func (a *App) DeleteCredential(ctx context.Context, name string) error {
	cfg := a.Config()
	if users := credentialUsers(cfg, name); len(users) > 0 {
		return fail(CodeConflict, "take it out of there first", "credential %q is used by %s", name, users[0])
	}
	err := a.vault.Delete(ctx, name)
	_, configured := cfg.Credentials[name]
	if err != nil && !(configured && errors.Is(err, secret.ErrNotFound)) {
		return err
	}
	if !configured {
		return nil
	}
	return a.edit(config.Edit{Path: []string{"credentials", name}})
}
