package secret

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The session bus is a matter of the whole process, for the keyring library and its D-Bus client alike. So each
// scenario runs in a child: this test program again, with an environment of its own.
const envScenario = "IONCLAW_TEST_KEYRING_SCENARIO"

func TestMain(m *testing.M) {
	name := os.Getenv(envScenario)
	if name == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	err := scenarios[name](ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("passed")
	os.Exit(0)
}

// TestRealKeyring runs against GNOME Keyring on a private bus: our own D-Bus daemon, home and runtime folder.
func TestRealKeyring(t *testing.T) {
	for _, program := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%v; install the packages dbus and gnome-keyring", err)
			}
			t.Logf("not run: %v; install the packages dbus and gnome-keyring", err)
			return
		}
	}
	for _, c := range []struct {
		scenario    string
		bus, daemon bool
		activatable bool
		password    string // of the login keyring; "": none is made
		address     string // instead of a bus of ours
	}{
		{scenario: "round trip", bus: true, daemon: true, password: "test-pass"},
		{scenario: "locked, no prompt possible", bus: true, daemon: true, password: "test-pass"},
		{scenario: "locked, nobody answers", bus: true, daemon: true, password: "test-pass"},
		{scenario: "locked, refused", bus: true, daemon: true, password: "test-pass"},
		{scenario: "locked, caller leaves", bus: true, daemon: true, password: "test-pass"},
		{scenario: "no keyring made yet", bus: true, daemon: true},
		{scenario: "starts when used", bus: true, activatable: true},
		{scenario: "no service", bus: true},
		{scenario: "no bus address"},
		{scenario: "dead bus address", address: "unix:path=/nonexistent/bus"},
		{scenario: "silent bus", address: "silent"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			d := newDesktop(t)
			switch {
			case c.bus:
				d.startBus(t, c.activatable)
			case c.address != "":
				d.env = append(d.env, envBus+"="+c.address)
			}
			if c.daemon {
				d.startDaemon(t, c.password)
			}
			d.run(t, c.scenario)
		})
	}
}
