package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"ionclaw-tray/app"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/assets"
	"ionclaw-tray/cmd/ionclaw/client"
)

// keys is where credentials are kept.
type keys interface {
	Credentials(ctx context.Context) ([]app.CredentialInfo, error)
	GenerateCredential(ctx context.Context, name string) error
	SetCredential(ctx context.Context, name, key string) error
	RevealCredential(ctx context.Context, name string) (string, error)
	DeleteCredential(ctx context.Context, name string) error
}

// agents is where agents are configured.
type agents interface {
	Agents(ctx context.Context) ([]app.AgentInfo, error)
	Agent(ctx context.Context, name string) (client.Agent, error)
	DeleteAgent(ctx context.Context, name string) error
}

// settings is both.
type settings interface {
	keys
	agents
}

var (
	_ settings = (*client.Client)(nil)
	_ settings = (*fileSettings)(nil)
)

// settings are the running program's, else those of the configuration file and the keyring.
func (c *cli) settings(ctx context.Context) (settings, error) {
	running, err := c.running(ctx)
	if err == nil {
		return running, nil
	}
	if !notRunning(err) {
		return nil, err
	}
	return &fileSettings{c}, nil
}

// fileSettings works on the configuration file and the keyring while no program runs. Reading makes no file.
type fileSettings struct{ *cli }

// core opens the configuration file, which makes it if it is missing.
func (s *fileSettings) core() (*app.App, error) {
	file, err := config.Open(s.paths().Config)
	if err != nil {
		return nil, err
	}
	redact := secret.NewRedactor()
	o := secret.Options{AgePath: s.paths().AgeFile(), Redactor: redact, Waiting: func(waiting bool) {
		if waiting {
			s.note("Waiting for the keyring; it may be asking for its password.")
		}
	}}
	if s.InTerm {
		o.Passphrase = s.passphrase
	}
	return app.OpenOffline(app.Options{Paths: s.paths(), Config: file, Version: s.Version, Vault: secret.New(o), Redact: redact}), nil
}

// missing reports whether there is no configuration file yet.
func (s *fileSettings) missing() bool {
	_, err := os.Stat(s.paths().Config)
	return errors.Is(err, fs.ErrNotExist)
}

// starter is the configuration that a first start would write.
func (s *fileSettings) starter() (*config.Config, error) {
	return config.Parse(s.paths().Config, assets.StarterConfig)
}

func (s *fileSettings) Credentials(ctx context.Context) ([]app.CredentialInfo, error) {
	if s.missing() {
		return []app.CredentialInfo{}, nil
	}
	a, err := s.core()
	if err != nil {
		return nil, err
	}
	return a.Credentials(ctx), nil
}

func (s *fileSettings) GenerateCredential(ctx context.Context, name string) error {
	a, err := s.core()
	if err != nil {
		return err
	}
	_, err = a.GenerateCredential(ctx, name)
	return err
}

func (s *fileSettings) SetCredential(ctx context.Context, name, key string) error {
	a, err := s.core()
	if err != nil {
		return err
	}
	return a.SetCredential(ctx, name, key)
}

func (s *fileSettings) RevealCredential(ctx context.Context, name string) (string, error) {
	if s.missing() {
		return "", noCredential(name)
	}
	a, err := s.core()
	if err != nil {
		return "", err
	}
	return a.RevealCredential(ctx, name)
}

func (s *fileSettings) DeleteCredential(ctx context.Context, name string) error {
	if s.missing() {
		return noCredential(name)
	}
	a, err := s.core()
	if err != nil {
		return err
	}
	return a.DeleteCredential(ctx, name)
}

func (s *fileSettings) Agents(context.Context) ([]app.AgentInfo, error) {
	if s.missing() {
		cfg, err := s.starter()
		if err != nil {
			return nil, err
		}
		list := []app.AgentInfo{}
		for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
			list = append(list, app.AgentInfo{Name: name, Description: cfg.Agents[name].Description, Model: cfg.Agents[name].Model})
		}
		return list, nil
	}
	a, err := s.core()
	if err != nil {
		return nil, err
	}
	return a.Agents(), nil
}

func (s *fileSettings) Agent(_ context.Context, name string) (client.Agent, error) {
	if s.missing() {
		cfg, err := s.starter()
		if err != nil {
			return client.Agent{}, err
		}
		ag, ok := cfg.Agents[name]
		if !ok {
			return client.Agent{}, noAgent(name)
		}
		return client.AgentOf(name, ag), nil
	}
	a, err := s.core()
	if err != nil {
		return client.Agent{}, err
	}
	ag, err := a.Agent(name)
	return client.AgentOf(name, ag), err
}

func (s *fileSettings) DeleteAgent(_ context.Context, name string) error {
	if s.missing() {
		return noAgent(name)
	}
	a, err := s.core()
	if err != nil {
		return err
	}
	return a.DeleteAgent(name)
}

func noCredential(name string) error {
	return &app.Error{Code: app.CodeNoCredential, Message: fmt.Sprintf("there is no credential %q", name),
		Hint: fmt.Sprintf("make one with %q", "ionclaw credential generate "+name)}
}

func noAgent(name string) error {
	return &app.Error{Code: app.CodeNotFound, Message: fmt.Sprintf("there is no agent %q", name), Hint: `see "ionclaw agents list"`}
}
