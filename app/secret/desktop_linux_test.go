package secret

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// desktop is a private session.
type desktop struct {
	dir     string
	env     []string
	address string
}

func newDesktop(t *testing.T) *desktop {
	t.Helper()
	dir, err := os.MkdirTemp("", "ionclaw") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &desktop{dir: dir}
	for _, sub := range []string{"home", "run", "services", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A trap: whoever calls dbus-launch leaves a trace.
	trap := "#!/bin/sh\ntouch " + filepath.Join(dir, "launched") + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "bin", "dbus-launch"), []byte(trap), 0o700); err != nil {
		t.Fatal(err)
	}
	d.env = []string{
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(dir, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "TMPDIR=" + dir,
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "G_MESSAGES_DEBUG=", "IONCLAW_TEST_DIR=" + dir,
	}
	return d
}

// start runs a program of the session and ends it, by its own id, with the test.
func (d *desktop) start(t *testing.T, stdin, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(d.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.env, d.dir, strings.NewReader(stdin), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%s", name, out)
		}
	})
}

func (d *desktop) startBus(t *testing.T, activatable bool) {
	t.Helper()
	services := ""
	if activatable {
		services = "<servicedir>" + filepath.Join(d.dir, "services") + "</servicedir>"
		unit := "[D-BUS Service]\nName=" + secretsName + "\nExec=gnome-keyring-daemon --start --foreground --components=secrets\n"
		program, err := exec.LookPath("gnome-keyring-daemon")
		if err != nil {
			t.Fatal(err)
		}
		unit = strings.Replace(unit, "=gnome-keyring-daemon", "="+program, 1)
		if err := os.WriteFile(filepath.Join(d.dir, "services", "secrets.service"), []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(d.dir, "run", "session")
	config := filepath.Join(d.dir, "session.conf")
	text := `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=` + socket + `</listen>` + services + `
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--nopidfile", "--print-address=3")
	cmd.Env, cmd.Dir, cmd.ExtraFiles = d.env, d.dir, []*os.File{tell}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_ = tell.Close()
	line := make([]byte, 1024)
	n, err := ready.Read(line) // the address, as soon as it listens
	_ = ready.Close()
	if err != nil {
		t.Fatalf("starting a bus: %v", err)
	}
	d.address = strings.TrimSpace(string(line[:n]))
	d.env = append(d.env, envBus+"="+d.address)
}

// startDaemon starts the keyring, unlocked with the password, and waits until it is on the bus.
func (d *desktop) startDaemon(t *testing.T, password string) {
	t.Helper()
	conn, err := dbus.Connect(d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	if err := conn.AddMatchSignal(dbus.WithMatchInterface(busIface), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, secretsName)); err != nil {
		t.Fatal(err)
	}
	args := []string{"--foreground", "--components=secrets"}
	if password != "" {
		args = append(args, "--unlock")
	}
	d.start(t, password, "gnome-keyring-daemon", args...)
	limit := time.After(20 * time.Second)
	for {
		select {
		case s := <-signals:
			if s.Name == busIface+".NameOwnerChanged" {
				return
			}
		case <-limit:
			t.Fatal("the keyring did not come onto the bus within 20s")
		}
	}
}

// run plays a scenario in a child.
func (d *desktop) run(t *testing.T, scenario string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(slices.Clone(d.env), envScenario+"="+scenario)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "passed") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "launched")); err == nil {
		t.Error("dbus-launch was called")
	}
}
