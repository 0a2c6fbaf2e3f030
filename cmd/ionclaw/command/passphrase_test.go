package command

import (
	"io"
	"strings"
	"testing"

	"ionclaw-tray/app/secret"
)

// types lets a person type lines at the terminal.
func (w *world) types(lines ...string) {
	w.InTerm, w.OutTerm = true, true
	w.Secret = func() (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

func TestPassphrase(t *testing.T) {
	fresh := secret.Ask{File: "f.age", Try: 1, Fresh: true}
	for _, tt := range []struct {
		name             string
		ask              secret.Ask
		typed            []string
		want, err, shown string
	}{
		{"of a file", secret.Ask{File: "f.age", Try: 1}, []string{"sesame"}, "sesame", "", "Passphrase of f.age: "},
		{"after a wrong one", secret.Ask{File: "f.age", Try: 2}, []string{"sesame"}, "sesame", "", "does not open the file"},
		{"new", fresh, []string{"sesame", "sesame"}, "sesame", "", "There is no keyring."},
		{"mistyped", fresh, []string{"sesame", "simsalabim"}, "", "differ", ""},
		{"empty", fresh, []string{""}, "", "no passphrase", ""},
		{"terminal ends", fresh, []string{"sesame"}, "", "EOF", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.types(tt.typed...)
			got, err := (&cli{System: w.System}).askPassphrase(tt.ask)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tt.want, tt.err)
			}
			if !strings.Contains(w.err.String(), tt.shown) || strings.Contains(w.err.String(), "sesame") {
				t.Errorf("shown %q, want %q and never what was typed", w.err.String(), tt.shown)
			}
		})
	}
}
