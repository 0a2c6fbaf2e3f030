package secret

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testKey = "sk-test-4fQ7zP/+2Lw8Rk0Yb6Xn"

func TestOrderOfSources(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "my-key"), "from directory\n")
	m := newMemory()
	m.keys["my-key"] = "from keyring"
	kv := map[string]string{"IONCLAW_CREDENTIAL_MY_KEY": "from variable", envDirectory: dir}
	identity := newIdentity(t)
	kv[envIdentity] = identity
	v := vault(t, Options{Keyring: m, AgePath: filepath.Join(t.TempDir(), "c.age")}, kv)
	wantKind(t, v.age.set(t.Context(), "my-key", "from age"), nil)

	check := func(want string, source Source) {
		t.Helper()
		s, err := v.Get(t.Context(), "my-key")
		if s.Key != want || s.Source != source || err != nil {
			t.Errorf("got %q from %s, %v, want %q from %s", s.Key, s.Source, err, want, source)
		}
		if where, err := v.Where(t.Context(), "my-key"); where != source || err != nil {
			t.Errorf("Where: got %s, %v, want %s", where, err, source)
		}
		if v.redact.Redact("x "+want+" x") == "x "+want+" x" {
			t.Errorf("the redactor does not know %q", want)
		}
	}
	check("from variable", SourceEnvironment)
	delete(kv, "IONCLAW_CREDENTIAL_MY_KEY")
	check("from directory", SourceDirectory)
	delete(kv, envDirectory)
	check("from keyring", SourceKeyring)
	delete(m.keys, "my-key")
	check("from age", SourceAge)
	wantKind(t, v.Delete(t.Context(), "my-key"), nil)
	_, err := v.Get(t.Context(), "my-key")
	wantKind(t, err, ErrNotFound)
	_, err = v.Where(t.Context(), "my-key")
	wantKind(t, err, ErrNotFound)
}

func TestProvidedFromOutsideIsReadOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b"), testKey)
	m := newMemory()
	v := vault(t, Options{Keyring: m}, map[string]string{"IONCLAW_CREDENTIAL_A_A": testKey, envDirectory: dir, "IONCLAW_CREDENTIAL_C": strings.Repeat("x", MaxKey+1)})
	for name, says := range map[string]string{"a-a": "IONCLAW_CREDENTIAL_A_A", "b": filepath.Join(dir, "b"), "c": "environment"} {
		for what, err := range map[string]error{"Set": v.Set(t.Context(), name, "new key"), "Delete": v.Delete(t.Context(), name)} {
			wantKindOnly(t, err, ErrReadOnly)
			if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), testKey) {
				t.Errorf("%s: got %q, want it to name %q and no key", what, err, says)
			}
		}
	}
	if calls, _ := m.counts(); calls != 0 {
		t.Errorf("the keyring was called %d times, want never", calls)
	}
}

func wantKindOnly(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestCredentialsDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "key")
	write(t, filepath.Join(dir, "dos"), "key\r\n")
	write(t, filepath.Join(dir, "spaces"), " key \n\n")
	write(t, filepath.Join(dir, "empty"), "\n")
	write(t, filepath.Join(dir, "max"), strings.Repeat("x", MaxKey)+"\n")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", MaxKey+1))
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := newMemory()
	for _, name := range []string{"empty", "big", "folder"} {
		m.keys[name] = "must not answer instead"
	}
	v := vault(t, Options{Keyring: m}, map[string]string{envDirectory: dir})
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"plain", "key", nil}, {"dos", "key", nil}, {"spaces", " key \n", nil}, {"max", strings.Repeat("x", MaxKey), nil},
		{"empty", "", ErrUnavailable}, {"folder", "", ErrUnavailable}, {"big", "", ErrTooBig}, {"absent", "", ErrNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := v.Get(t.Context(), c.name)
			wantKind(t, err, c.err)
			if s.Key != c.want {
				t.Errorf("got %d bytes, want %d", len(s.Key), len(c.want))
			}
		})
	}
}

func TestRefusedBeforeTheKeyring(t *testing.T) {
	m := newMemory()
	v := vault(t, Options{Keyring: m}, nil)
	for _, c := range []struct {
		name, key string
		want      error
	}{
		{"a", strings.Repeat("x", MaxKey+1), ErrTooBig},
		{"a", strings.Repeat("x", 1<<20), ErrTooBig},
		{"a", "", ErrInvalid},
		{"a", "\xff\xfe", ErrInvalid},
		{"", "key", ErrInvalid}, {"..", "key", ErrInvalid}, {".", "key", ErrInvalid}, {"a/b", "key", ErrInvalid},
		{"a b", "key", ErrInvalid}, {"é", "key", ErrInvalid}, {"a\n", "key", ErrInvalid}, {strings.Repeat("n", MaxName+1), "key", ErrInvalid},
	} {
		wantKind(t, v.Set(t.Context(), c.name, c.key), c.want)
		if checkName(c.name) != nil {
			_, err := v.Get(t.Context(), c.name)
			wantKind(t, err, c.want)
			wantKind(t, v.Delete(t.Context(), c.name), c.want)
			_, err = v.Where(t.Context(), c.name)
			wantKind(t, err, c.want)
		}
	}
	if calls, _ := m.counts(); calls != 0 {
		t.Errorf("the keyring was called %d times, want never", calls)
	}
	wantKind(t, v.Set(t.Context(), strings.Repeat("n", MaxName), strings.Repeat("x", MaxKey)), nil)
}

func TestLockedKeyringIsNotPassedOver(t *testing.T) {
	for _, failure := range []error{locked(nil), callTimeout(CallLimit)} {
		m := newMemory()
		m.fail = failure
		path := filepath.Join(t.TempDir(), "c.age")
		v := vault(t, Options{Keyring: m, AgePath: path}, map[string]string{envIdentity: newIdentity(t)})
		wantKind(t, v.age.set(t.Context(), "a", testKey), nil)
		kind := failure.(*Error).Kind
		_, err := v.Get(t.Context(), "a")
		wantKind(t, err, kind)
		before := read(t, path)
		wantKind(t, v.Set(t.Context(), "a", "other"), kind)
		wantKind(t, v.Delete(t.Context(), "a"), kind)
		if read(t, path) != before {
			t.Error("the encrypted file was changed, want it left alone")
		}
	}
}

func TestNoKeyring(t *testing.T) {
	for _, failure := range []*Error{noBus(), noService(), noCollection(), unusable(errors.New("broken"))} {
		m := newMemory()
		m.fail = failure
		dir := t.TempDir()
		path := filepath.Join(dir, "sub", "c.age")

		v := vault(t, Options{Keyring: m, AgePath: path}, nil)
		err := v.Set(t.Context(), "a", testKey)
		wantKind(t, err, ErrUnavailable, testKey)
		for _, remedy := range []string{"IONCLAW_CREDENTIAL_", "CREDENTIALS_DIRECTORY", "IONCLAW_AGE_IDENTITY"} {
			if !strings.Contains(err.Error(), remedy) {
				t.Errorf("got %q, want the remedy %s", err, remedy)
			}
		}
		_, err = v.Get(t.Context(), "a")
		wantKind(t, err, ErrUnavailable)
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("got %v on disk, want nothing", entries)
		}

		v = vault(t, Options{Keyring: m, AgePath: path}, map[string]string{envIdentity: newIdentity(t)})
		_, err = v.Get(t.Context(), "a")
		wantKind(t, err, ErrNotFound)
		wantKind(t, v.Set(t.Context(), "a", testKey), nil)
		s, err := v.Get(t.Context(), "a")
		if s.Key != testKey || s.Source != SourceAge || err != nil {
			t.Errorf("got %v, %v, want the key from the file", s, err)
		}
		wantKind(t, v.Delete(t.Context(), "a"), nil)
		wantKind(t, v.Delete(t.Context(), "a"), ErrNotFound)

		v = vault(t, Options{Keyring: m, AgePath: filepath.Join(dir, "other.age"), Passphrase: func(context.Context) (string, error) {
			return "", errors.New("no terminal")
		}}, nil)
		err = v.Set(t.Context(), "a", testKey)
		wantKind(t, err, ErrUnavailable, testKey)
		if !strings.Contains(err.Error(), failure.What) || !strings.Contains(err.Error(), "no terminal") {
			t.Errorf("got %q, want both reasons", err)
		}
	}
}

func TestDeletedCredentialDoesNotComeBackFromTheFile(t *testing.T) {
	m := newMemory()
	v := vault(t, Options{Keyring: m, AgePath: filepath.Join(t.TempDir(), "c.age")}, map[string]string{envIdentity: newIdentity(t)})
	wantKind(t, v.age.set(t.Context(), "a", "old key"), nil)
	wantKind(t, v.Set(t.Context(), "a", "new key"), nil)
	wantKind(t, v.Delete(t.Context(), "a"), nil)
	_, err := v.Get(t.Context(), "a")
	wantKind(t, err, ErrNotFound)
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := vault(t, Options{AgePath: filepath.Join(t.TempDir(), "c.age")}, map[string]string{envIdentity: newIdentity(t)})
	_, err := v.Get(ctx, "a")
	wantKindOnly(t, err, context.Canceled)
	wantKindOnly(t, v.Set(ctx, "a", testKey), context.Canceled)
	wantKindOnly(t, v.Delete(ctx, "a"), context.Canceled)
	wantKindOnly(t, v.age.set(ctx, "a", testKey), context.Canceled)
}

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	identity := newIdentity(t)
	kv := map[string]string{"IONCLAW_CREDENTIAL_A": testKey, envDirectory: dir, envIdentity: identity}
	v := vault(t, Options{AgePath: filepath.Join(dir, "c.age")}, kv)
	got := v.Status(t.Context())
	var order []Source
	for _, s := range got {
		order = append(order, s.Source)
		if !s.Available || s.Locked || s.Detail == "" || strings.Contains(s.Detail, testKey) {
			t.Errorf("got %+v, want it available and described", s)
		}
	}
	want := []Source{SourceEnvironment, SourceDirectory, SourceKeyring, SourceAge}
	if fmt.Sprint(order) != fmt.Sprint(want) {
		t.Errorf("got order %v, want %v", order, want)
	}
	if !strings.Contains(got[0].Detail, "IONCLAW_CREDENTIAL_A") || !strings.Contains(got[3].Detail, identity) {
		t.Errorf("got %q and %q, want the variable and the identity file named", got[0].Detail, got[3].Detail)
	}
	if err := os.Chmod(identity, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := v.Status(t.Context())[3]; !strings.Contains(s.Detail, "chmod 600") {
		t.Errorf("got %q, want the warning about its mode", s.Detail)
	}

	for name, c := range map[string]struct {
		desk   *desk
		locked bool
		up     bool
		says   string
	}{
		"locked":  {&desk{locked: true}, true, true, "locked"},
		"missing": {&desk{err: noService()}, false, false, "no keyring service"},
	} {
		v.keyring.prober = c.desk
		if s := v.Status(t.Context())[2]; s.Locked != c.locked || s.Available != c.up || !strings.Contains(s.Detail, c.says) {
			t.Errorf("%s: got %+v", name, s)
		}
		if c.desk.count() != 0 {
			t.Errorf("%s: Status prompted", name)
		}
	}

	v = vault(t, Options{}, nil)
	for _, i := range []int{1, 3} {
		if s := v.Status(t.Context())[i]; s.Available || s.Detail == "" {
			t.Errorf("got %+v, want it unavailable with a reason", s)
		}
	}
}

func TestKeysInTheEnvironmentAreKnownFromTheStart(t *testing.T) {
	t.Setenv("IONCLAW_CREDENTIAL_EARLY", testKey)
	v := New(Options{Keyring: newMemory()})
	if got := v.Redactor().Redact("env: " + testKey); got != "env: "+redacted {
		t.Errorf("got a text of %d bytes, want the key redacted", len(got))
	}
	if s, err := v.Get(t.Context(), "early"); s.Key != testKey || err != nil {
		t.Errorf("got %v, %v, want the key", s, err)
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := Secret{testKey, SourceKeyring}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %q %x %d", s, s, s, s, s, s), fmt.Sprintf("%v", []any{&s, s}), string(encoded), s.LogValue().String()} {
		if strings.Contains(text, testKey) || strings.Contains(text, fmt.Sprintf("%x", testKey)) {
			t.Errorf("got the key in %q", text)
		}
	}
}

func TestGenerate(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key := Generate()
		if b, err := base64.RawURLEncoding.DecodeString(key); err != nil || len(b)*8 != 256 {
			t.Fatalf("got a key of %d bits, %v, want 256", len(b)*8, err)
		}
		if seen[key] {
			t.Fatal("got the same key twice")
		}
		seen[key] = true
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
