package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	envPrefix    = "IONCLAW_CREDENTIAL_"
	envDirectory = "CREDENTIALS_DIRECTORY" // set by systemd, see systemd.exec(5), LoadCredential=
	envIdentity  = "IONCLAW_AGE_IDENTITY"
)

// EnvName is the environment variable that holds the key of a credential: upper case, with _ for - and dots.
func EnvName(name string) string {
	return envPrefix + strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(name))
}

// given is a key that somebody outside has set and that only they can change.
type given struct {
	key    string
	source Source
	origin string // the variable or the file, for people
}

// environment looks a credential up in the two places outside. ok is false if neither has it. A file that is there
// but cannot be read is an error: another source must not quietly answer in its stead.
func environment(getenv func(string) string, name string) (g given, ok bool, err error) {
	variable := EnvName(name)
	if key := getenv(variable); key != "" {
		if len(key) > MaxKey {
			return given{}, false, tooBig(name, len(key))
		}
		return given{key, SourceEnvironment, "variable " + variable}, true, nil
	}
	dir := getenv(envDirectory)
	if dir == "" {
		return given{}, false, nil
	}
	path := filepath.Join(dir, name)
	key, err := credentialFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return given{}, false, nil
	case errors.Is(err, ErrTooBig):
		return given{}, false, err
	case err != nil:
		return given{}, false, &Error{Kind: ErrUnavailable, What: fmt.Sprintf("the file with credential %q cannot be read", name),
			Remedy: "correct or remove the file", Cause: err}
	}
	return given{key, SourceDirectory, "file " + path}, true, nil
}

// credentialFile reads a key from a file. One line end is dropped: editors and echo add it. Anything but a regular
// file is refused, since reading a pipe could block for ever.
func credentialFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	const lineEnd = 2
	b, err := io.ReadAll(io.LimitReader(f, MaxKey+lineEnd+1))
	if err != nil {
		return "", err
	}
	key := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	switch {
	case key == "":
		return "", fmt.Errorf("%s is empty", path)
	case len(key) > MaxKey:
		return "", tooBig(filepath.Base(path), max(int(info.Size()), len(key)))
	}
	return key, nil
}

// environmentStatus describes the variables. It names those that are set, never what is in them.
func environmentStatus(environ []string) SourceStatus {
	var names []string
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && strings.HasPrefix(name, envPrefix) {
			names = append(names, name)
		}
	}
	detail := "no variable " + envPrefix + "<NAME> is set"
	if len(names) > 0 {
		detail = "set: " + strings.Join(names, ", ")
	}
	return SourceStatus{Source: SourceEnvironment, Available: true, Detail: detail}
}

func directoryStatus(dir string) SourceStatus {
	s := SourceStatus{Source: SourceDirectory}
	if dir == "" {
		s.Detail = "$" + envDirectory + " is not set"
		return s
	}
	if _, err := os.ReadDir(dir); err != nil {
		s.Detail = err.Error()
		return s
	}
	s.Available, s.Detail = true, dir
	return s
}
