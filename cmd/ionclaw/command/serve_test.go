package command

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"ionclaw-tray/app"
	"ionclaw-tray/server"
)

func TestServeGivesItsOptionsOn(t *testing.T) {
	for _, tt := range []struct {
		args []string
		port int // -1: that of the configuration
		log  bool
	}{
		{nil, -1, false},
		{[]string{"--port", "0"}, 0, false},
		{[]string{"--port=9000", "--log"}, 9000, true},
	} {
		w := newWorld(t)
		w.Serve = func(_ context.Context, o server.Options) error {
			port := -1
			if o.Port != nil {
				port = *o.Port
			}
			if port != tt.port || (o.LogTo != nil) != tt.log || o.Version != "1.2.3" || o.Paths != w.Paths("", "") {
				t.Errorf("%v: got port %d, options %+v", tt.args, port, o)
			}
			return nil
		}
		w.wantRun(0, "", "", append([]string{"serve"}, tt.args...)...)
	}
}

func TestServeKeepsTheCodeOfAnError(t *testing.T) {
	for code, want := range map[app.Code]int{app.CodeAlreadyRunning: 3, app.CodePortInUse: 4, app.CodeInvalidConfig: 2, app.CodeNoCredential: 5} {
		w := newWorld(t)
		w.Serve = func(context.Context, server.Options) error {
			return &app.Error{Code: code, Message: "why", Hint: "what next"}
		}
		w.wantRun(want, "", "ionclaw: why\nhint: what next\n", "serve")
	}
}

func TestFirstSignalEndsTheServer(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		w := newWorld(t)
		w.Serve = func(ctx context.Context, _ server.Options) error {
			w.signals <- sig
			<-ctx.Done()
			return ctx.Err()
		}
		w.wantRun(0, "", "Stopping.", "serve")
	}
}

func TestSecondSignalEndsTheProcess(t *testing.T) {
	w := newWorld(t)
	w.Serve = func(context.Context, server.Options) error {
		w.signals <- os.Interrupt
		w.signals <- os.Interrupt
		if got := <-w.exited; got != 1 {
			t.Errorf("exit code %d, want 1", got)
		}
		return nil
	}
	w.run("serve")
}

func TestWelcome(t *testing.T) {
	paths := app.Paths{Config: "/c/config.yml", Data: "/d", Log: "/l/ionclaw.log"}
	for _, tt := range []struct {
		name  string
		ready server.Ready
		want  []string
		not   []string
	}{
		{"open", server.Ready{URL: "http://127.0.0.1:8080/mcp", Running: true, Paths: paths},
			[]string{
				"IonClaw 1.2.3 is running.", "MCP endpoint   http://127.0.0.1:8080/mcp\n", "Channel        running\n",
				"no token needed: every program on this computer may use it",
				"Configuration  /c/config.yml\n", "Data           /d\n", "Log            /l/ionclaw.log\n",
				"claude mcp add --transport http --scope user ionclaw http://127.0.0.1:8080/mcp\n",
				`{"mcpServers": {"ionclaw": {"type": "http", "url": "http://127.0.0.1:8080/mcp"}}}`,
				`ionclaw chat "Hello"`,
			},
			[]string{"IONCLAW_TOKEN", "Warning"}},
		{"with a token", server.Ready{URL: "http://127.0.0.1:9/mcp", Running: true, RequireAuth: true, Credential: "mcp_token", Paths: paths},
			[]string{
				`the token of credential "mcp_token" is required`,
				"ionclaw http://127.0.0.1:9/mcp --header 'Authorization: Bearer ${IONCLAW_TOKEN}'\n",
				`"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${IONCLAW_TOKEN}"}}}}`,
				`export IONCLAW_TOKEN="$(ionclaw credential show --reveal mcp_token)"`,
			}, nil},
		{"stopped", server.Ready{URL: "http://127.0.0.1:8080/mcp", Paths: paths},
			[]string{"Channel        stopped; open it with: ionclaw start"}, nil},
		{"in trouble", server.Ready{URL: "http://127.0.0.1:8080/mcp", RequireAuth: true, Problem: "no key", Warnings: []string{"w1", "w2"}, Paths: paths},
			[]string{"Channel        stopped: no key\n", "channels.mcp.credential names none", "Warning: w1\n", "Warning: w2\n"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.Serve = func(_ context.Context, o server.Options) error { o.OnReady(tt.ready); return nil }
			w.run("serve")
			got := w.out.String()
			for _, s := range tt.want {
				if !strings.Contains(got, s) {
					t.Errorf("%q is missing in\n%s", s, got)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(got, s) {
					t.Errorf("%q should not be in\n%s", s, got)
				}
			}
			if entry := line(got, `  {"mcpServers"`); !json.Valid([]byte(entry)) {
				t.Errorf("not JSON: %s", entry)
			}
		})
	}
}

func line(text, prefix string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, prefix) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

func TestWelcomeAsJSON(t *testing.T) {
	w := newWorld(t)
	w.Serve = func(_ context.Context, o server.Options) error {
		o.OnReady(server.Ready{URL: "u", Running: true, Paths: o.Paths})
		return nil
	}
	w.run("serve", "--json")
	var got readyAnswer
	if err := json.Unmarshal([]byte(w.out.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, w.out.String())
	}
	if got.URL != "u" || !got.Running || got.Paths != w.Paths("", "") || got.Warnings == nil {
		t.Errorf("got %+v", got)
	}
}
