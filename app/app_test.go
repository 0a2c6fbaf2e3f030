package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
)

const sample = `# my settings
channels: {mcp: {enabled: false}} # off for now
credentials: {openai: {type: simple}}
providers: {openai: {credential: openai}}
agents:
  main: {description: General} # the first
  poet: {description: Verses}
`

// openApp opens the core on dir with keys kept in an age file.
func openApp(t *testing.T, dir, yaml string) *App {
	t.Helper()
	a, err := tryOpen(t, dir, yaml)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func tryOpen(t *testing.T, dir, yaml string) (*App, error) {
	t.Helper()
	noKeyring(t)
	p := DefaultPaths(filepath.Join(dir, "config.yml"), dir)
	if yaml != "" {
		if err := os.WriteFile(p.Config, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := config.Open(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t.Context(), Options{Paths: p, Config: file, Version: "test"})
}

// noKeyring hides the keyring of whoever runs the tests and gives the vault an identity file instead.
func noKeyring(t *testing.T) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(path, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IONCLAW_AGE_IDENTITY", path)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
}

func code(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

func TestSecondProgramOnTheSameFolder(t *testing.T) {
	dir := t.TempDir()
	a := openApp(t, dir, sample)
	if err := WriteInstance(a.opt.Paths.Instance, Instance{PID: 4711, BaseURL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err := tryOpen(t, dir, "")
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the message took %v, want a second at most", took)
	}
	if code(err) != CodeAlreadyRunning || CodeAlreadyRunning.ExitCode() != 3 {
		t.Errorf("got %v (%s), want already_running with exit code 3", err, code(err))
	}
	if !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), dir) {
		t.Errorf("the message does not say who: %v", err)
	}
}

func TestUnfinishedTasksAreInterruptedAtStart(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(DefaultPaths("", dir).Database(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := session.NewKey(session.ChannelMCP)
	now := session.At(time.Now())
	for id, state := range map[string]task.State{"q": task.Queued, "r": task.Running, "d": task.Done} {
		if err := st.PutTask(task.Task{ID: id, State: state, Channel: "mcp", SessionID: key, CreatedAt: now, UpdatedAt: now}).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	a := openApp(t, dir, sample)
	for id, want := range map[string]task.State{"q": task.Interrupted, "r": task.Interrupted, "d": task.Done} {
		k, err := a.Task(id)
		if err != nil || k.State != want || (want == task.Interrupted) != strings.HasPrefix(k.ErrorMessage, "Interrupted: ") {
			t.Errorf("task %s: got %s %q, %v; want %s", id, k.State, k.ErrorMessage, err, want)
		}
	}
}

func TestConfigurationIsLive(t *testing.T) {
	dir := t.TempDir()
	a := openApp(t, dir, sample)
	sub := a.Events().Subscribe(64)
	defer sub.Close()
	path := a.ConfigPath()
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := func() event.Event {
		for {
			select {
			case env := <-sub.C():
				return env.Event
			case <-time.After(10 * time.Second):
				t.Fatal("the change was not noticed")
			}
		}
	}
	write(sample + "  chef: {description: Cooks}\n")
	if e, ok := next().(event.ConfigChanged); !ok {
		t.Fatalf("got %T, want ConfigChanged", e)
	}
	if names := agentNames(a); !slices.Equal(names, []string{"chef", "main", "poet"}) {
		t.Errorf("agents: got %v", names)
	}
	write("agents: {main: {modell: x}}\n")
	rejected, ok := next().(event.ConfigRejected)
	if !ok || !strings.Contains(rejected.Error, "config.yml:1:") || !strings.Contains(rejected.Error, "model") {
		t.Errorf("got %+v, want ConfigRejected with line and the nearest key", rejected)
	}
	if names := agentNames(a); len(names) != 3 {
		t.Errorf("agents after an invalid change: got %v, want the former ones", names)
	}
	if p := a.Problems(); len(p) != 1 || p[0].About != "configuration" {
		t.Errorf("problems: got %v", p)
	}
	write(sample)
	next()
	if p := a.Problems(); len(p) != 0 {
		t.Errorf("problems after the repair: got %v", p)
	}
}

func agentNames(a *App) []string {
	var names []string
	for _, x := range a.Agents() {
		names = append(names, x.Name)
	}
	return names
}

func TestAgentsAreWrittenIntoTheFile(t *testing.T) {
	a := openApp(t, t.TempDir(), sample)
	if err := a.PutAgent("chef", config.Agent{Description: "Cooks", Model: "builtin/offline", MaxIterations: 7}); err != nil {
		t.Fatal(err)
	}
	if ag, err := a.Agent("chef"); err != nil || ag.MaxIterations != 7 || ag.MaxHistory != config.DefaultMaxHistory {
		t.Errorf("chef: got %+v, %v", ag, err)
	}
	text, err := os.ReadFile(a.ConfigPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []string{"# my settings", "# off for now", "# the first", "chef:", "max_iterations: 7"} {
		if !strings.Contains(string(text), keep) {
			t.Errorf("%q is not in the file:\n%s", keep, text)
		}
	}
	if err := a.PutAgent("a b", config.Agent{}); code(err) != CodeInvalidConfig {
		t.Errorf("bad name: got %v", err)
	}
	if err := a.PutAgent("x", config.Agent{Model: "nowhere/m"}); code(err) != CodeInvalidConfig {
		t.Errorf("unknown provider: got %v", err)
	}
	for _, name := range []string{"chef", "poet"} {
		if err := a.DeleteAgent(name); err != nil {
			t.Errorf("deleting %s: %v", name, err)
		}
	}
	if err := a.DeleteAgent("main"); code(err) != CodeConflict {
		t.Errorf("deleting the last agent: got %v, want a conflict", err)
	}
	if err := a.DeleteAgent("nobody"); code(err) != CodeNotFound {
		t.Errorf("deleting nobody: got %v, want not found", err)
	}
}

func TestCredentials(t *testing.T) {
	a := openApp(t, t.TempDir(), sample)
	ctx := t.Context()
	list := a.Credentials(ctx)
	if len(list) != 1 || list[0].Problem == "" || !slices.Equal(list[0].UsedBy, []string{"providers.openai"}) {
		t.Errorf("without a key: got %+v", list)
	}
	if err := a.SetCredential(ctx, "openai", "sk-0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	if list = a.Credentials(ctx); list[0].Problem != "" || list[0].Source != "age" {
		t.Errorf("with a key: got %+v", list)
	}
	if key, err := a.RevealCredential(ctx, "openai"); err != nil || key != "sk-0123456789abcdef" {
		t.Errorf("reveal: got %q, %v", key, err)
	}
	if err := a.DeleteCredential(ctx, "openai"); code(err) != CodeConflict || !strings.Contains(err.Error(), "providers.openai") {
		t.Errorf("deleting a used one: got %v, want a conflict that names the user", err)
	}
	first, err := a.GenerateCredential(ctx, "mcp_token")
	if err != nil {
		t.Fatal(err)
	}
	if _, known := a.Config().Credentials["mcp_token"]; !known || len(first) < 40 {
		t.Errorf("generated: key of %d characters, configured %v", len(first), known)
	}
	if second, err := a.GenerateCredential(ctx, "mcp_token"); err != nil || second == first {
		t.Errorf("a second key: same %v, %v", second == first, err)
	}
	if err := a.DeleteCredential(ctx, "mcp_token"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.RevealCredential(ctx, "mcp_token"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("after deleting: got %v, want ErrNotFound", err)
	}
	for _, c := range []struct {
		name, key string
		want      Code
	}{{"a/b", "k", CodeBadRequest}, {"x", "", CodeBadRequest}, {"x", strings.Repeat("k", 3000), CodeTooLarge}} {
		if err := a.SetCredential(ctx, c.name, c.key); code(err) != c.want {
			t.Errorf("setting %q: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestMCPSettings(t *testing.T) {
	a := openApp(t, t.TempDir(), sample)
	on, none, bad, good := true, "", "nosuch", "openai"
	for _, c := range []struct {
		name string
		set  MCPSettings
		want Code
	}{
		{"auth without a credential", MCPSettings{RequireAuth: &on}, CodeBadRequest},
		{"unknown credential", MCPSettings{Credential: &bad}, CodeNotFound},
		{"auth with none", MCPSettings{RequireAuth: &on, Credential: &none}, CodeBadRequest},
		{"nothing", MCPSettings{}, ""},
		{"all", MCPSettings{Enabled: &on, RequireAuth: &on, Credential: &good}, ""},
		{"taking the credential away from auth", MCPSettings{Credential: &none}, CodeBadRequest},
	} {
		if err := a.SetMCP(c.set); code(err) != c.want {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if s := a.MCP(); !s.Enabled || !s.RequireAuth || s.Credential != "openai" || s.Running {
		t.Errorf("status: got %+v", s)
	}
	text, err := os.ReadFile(a.ConfigPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# my settings\n", "# off for now\n", "# the first\n", "enabled: true", "require_auth: true", "credential: openai"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file lacks %q; got\n%s", want, text)
		}
	}
	off := false
	if err := a.SetMCP(MCPSettings{RequireAuth: &off, Credential: &none}); err != nil {
		t.Errorf("taking both away: got %v", err)
	}
	if err := a.StartMCP(t.Context()); code(err) != CodeUnavailable {
		t.Errorf("start without a server: got %v", err)
	}
	if err := a.StopMCP(t.Context()); code(err) != CodeConflict {
		t.Errorf("stop without a server: got %v", err)
	}
}

func TestSessionsAndTasks(t *testing.T) {
	a := openApp(t, t.TempDir(), sample)
	turn, err := a.Chat(ChatRequest{Channel: session.ChannelCLI, Agent: "main", Message: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	view, err := a.Session(turn.Key(), store.MessageQuery{Limit: 10})
	if err != nil || len(view.History) != 2 || view.DisplayName != "hello" {
		t.Errorf("session: got %+v, %v", view, err)
	}
	if err := a.RenameSession(t.Context(), turn.Key(), "  "); code(err) != CodeBadRequest {
		t.Errorf("empty name: got %v", err)
	}
	if err := a.RenameSession(t.Context(), turn.Key(), "Greeting"); err != nil {
		t.Error(err)
	}
	if page, err := a.Sessions(store.SessionQuery{Limit: 10}); err != nil || page.Sessions[0].DisplayName != "Greeting" {
		t.Errorf("list: got %+v, %v", page, err)
	}
	if alive, err := a.AbortTask(t.Context(), turn.TaskID()); alive || err != nil {
		t.Errorf("aborting a finished task: got %v, %v", alive, err)
	}
	if _, err := a.AbortTask(t.Context(), "nosuch"); code(err) != CodeNotFound {
		t.Errorf("aborting an unknown task: got %v", err)
	}
	if was, err := a.DeleteSession(t.Context(), turn.Key()); !was || err != nil {
		t.Errorf("delete: got %v, %v", was, err)
	}
	if _, err := a.Session(turn.Key(), store.MessageQuery{}); code(err) != CodeNotFound {
		t.Errorf("after deleting: got %v", err)
	}
	if s := a.Status(t.Context()); s.Agents != 2 || s.PID != os.Getpid() || s.Running != 0 {
		t.Errorf("status: got %+v", s)
	}
}

func TestEveryErrorHasItsCode(t *testing.T) {
	for c, v := range codes {
		if v.status < 400 || v.status > 599 || v.exit < 1 || v.exit > 6 {
			t.Errorf("%s: status %d, exit code %d", c, v.status, v.exit)
		}
	}
	for err, want := range map[error]Code{
		errors.New("x"): CodeInternal, agent.ErrBusy: CodeBusy, store.ErrInUse: CodeAlreadyRunning,
		fmt.Errorf("a: %w", config.ErrInvalid): CodeInvalidConfig, secret.ErrLocked: CodeNoCredential,
		fail(CodePortInUse, "", "p"): CodePortInUse,
	} {
		if got := code(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	if AsError(nil) != nil {
		t.Error("nil became an error")
	}
	if got := Code("made up").HTTPStatus(); got != 500 {
		t.Errorf("unknown code: status %d, want 500", got)
	}
}

func TestInstanceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "instance.json")
	if _, err := ReadInstance(path); code(err) != CodeNotRunning || code(err).ExitCode() != 6 {
		t.Errorf("no file: got %v", err)
	}
	want := Instance{PID: os.Getpid(), BaseURL: "http://127.0.0.1:8080", Token: NewAPIToken(), Version: "1"}
	if err := WriteInstance(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadInstance(path); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for p, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %v", p, info.Mode().Perm(), err, mode)
		}
	}
	if err := RemoveInstance(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteInstance(path, Instance{PID: 1}); err != nil {
		t.Fatal(err)
	}
	if err := RemoveInstance(path); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadInstance(path); err != nil {
		t.Error("the file of another process was removed")
	}
}

func TestPathsOfTwoDataFoldersAreApart(t *testing.T) {
	t.Setenv(EnvConfig, "")
	t.Setenv(EnvDataDir, "")
	p := DefaultPaths("", "")
	if !strings.HasSuffix(p.Config, filepath.Join("ionclaw", "config.yml")) || !strings.HasSuffix(p.Database(), filepath.Join("ionclaw", "ionclaw.db")) {
		t.Errorf("default: got %+v", p)
	}
	dir := t.TempDir()
	q := DefaultPaths("", dir)
	for _, path := range []string{q.Database(), q.AgeFile(), q.Log, q.Instance} {
		if filepath.Dir(path) != dir {
			t.Errorf("%s is not in the data folder %s", path, dir)
		}
	}
	t.Setenv(EnvConfig, "rel/c.yml")
	t.Setenv(EnvDataDir, dir)
	if r := DefaultPaths("", ""); !filepath.IsAbs(r.Config) || r.Data != dir {
		t.Errorf("from the environment: got %+v", r)
	}
}
