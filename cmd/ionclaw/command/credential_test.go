package command

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"ionclaw-tray/app/secret"
)

// stored keeps what was put under a credential.
func stored(t *testing.T, key *string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"PUT /api/credentials/x": func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Key string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		*key = body.Key
		io.WriteString(w, `{}`)
	}}
}

func TestKeyFromAPipe(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		code           int
		stderr         string
	}{
		{"plain", "secret-key", "secret-key", 0, ""},
		{"line", "secret-key\n", "secret-key", 0, ""},
		{"Windows line with blanks", "  secret-key \r\n", "secret-key", 0, ""},
		{"longest", strings.Repeat("k", secret.MaxKey) + "\r\n", strings.Repeat("k", secret.MaxKey), 0, ""},
		{"nothing", "", "", 2, "the key is empty"},
		{"blank", " \n", "", 2, "the key is empty"},
		{"too long", strings.Repeat("k", secret.MaxKey+1), "", 2, "longer than 2048 bytes"},
		{"endless", strings.Repeat("k", 10*secret.MaxKey), "", 2, "longer than"},
		{"no text", "secret-key\xff", "", 2, "the key is not UTF-8 text"},
		{"two lines", "secret-key\nsecond", "", 2, "line breaks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.In = strings.NewReader(tt.in)
			var got string
			w.program(stored(t, &got))
			w.wantRun(tt.code, "", tt.stderr, "credential", "set", "x")
			if got != tt.want {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
			if printed := w.out.String() + w.err.String(); strings.Contains(printed, "secret-key") || strings.Contains(printed, "kkkk") {
				t.Errorf("the key was printed: %s", printed)
			}
		})
	}
}

func TestKeyFromTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.InTerm = true
	w.Secret = func() (string, error) { return "typed-key", nil }
	var got string
	w.program(stored(t, &got))
	w.wantRun(0, "Stored the key of x.", "Key of x (not shown): \n", "credential", "set", "x")
	if got != "typed-key" || strings.Contains(w.out.String()+w.err.String(), "typed-key") {
		t.Errorf("stored %q, printed %s%s", got, w.out.String(), w.err.String())
	}
}

func TestTerminalEndsWhileTyping(t *testing.T) {
	w := newWorld(t)
	w.InTerm = true
	w.Secret = func() (string, error) { return "", io.EOF }
	w.wantRun(1, "", "reading from the terminal", "credential", "set", "x")
}

func TestKeyIsNoArgument(t *testing.T) {
	w := newWorld(t)
	w.wantRun(2, "", "a key is not given as an argument", "credential", "set", "x", "secret-key")
	if strings.Contains(w.out.String()+w.err.String(), "secret-key") {
		t.Errorf("the key was repeated: %s", w.err.String())
	}
}

func TestKeyIsShownOnATerminal(t *testing.T) {
	w := newWorld(t)
	w.OutTerm = true
	w.program(full())
	w.wantRun(0, "the-key\n", "", "credential", "show", "x")
}
