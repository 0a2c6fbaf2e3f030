package app

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Instance tells other processes of the same user how to reach the running program. Its file has mode 0600, is made
// when the program serves and removed when it ends.
type Instance struct {
	PID     int    `json:"pid"`
	BaseURL string `json:"base_url"` // for example http://127.0.0.1:8080
	Token   string `json:"token"`    // opens the local API during this run
	Version string `json:"version"`
}

// NewAPIToken makes the token of one run.
func NewAPIToken() string { return rand.Text() + rand.Text() }

// WriteInstance writes the file whole: a reader never sees half of it.
func WriteInstance(path string, in Instance) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding instance file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making folder of instance file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".instance-*") // 0600
	if err != nil {
		return fmt.Errorf("creating instance file: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone after the rename
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("writing instance file: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("placing instance file: %w", err)
	}
	return nil
}

// ReadInstance reads the file of the running program. Without one the error has CodeNotRunning. A file left behind by
// a killed program is read like any other: only talking to its address tells.
func ReadInstance(path string) (Instance, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Instance{}, fail(CodeNotRunning, `start it with "ionclaw serve"`, "IonClaw is not running")
	}
	if err != nil {
		return Instance{}, fmt.Errorf("reading instance file: %w", err)
	}
	var in Instance
	if err := json.Unmarshal(data, &in); err != nil {
		return Instance{}, fmt.Errorf("reading instance file %s: %w", path, err)
	}
	return in, nil
}

// RemoveInstance removes the file if it is still that of this process.
func RemoveInstance(path string) error {
	in, err := ReadInstance(path)
	if err != nil || in.PID != os.Getpid() {
		return nil
	}
	return os.Remove(path)
}
