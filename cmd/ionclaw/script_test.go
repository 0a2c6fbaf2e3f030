package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"

	"ionclaw-tray/app"
	"ionclaw-tray/app/model/modeltest"
)

// deadline bounds every wait of a script for another process.
const deadline = 30 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ionclaw": main})
}

// TestScripts plays what people do with the program, as processes of their own. Each script has its own configuration
// and data; the commands beside testscript's own are those of the table below.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv(app.EnvConfig, filepath.Join(env.WorkDir, "config.yml"))
			env.Setenv(app.EnvDataDir, filepath.Join(env.WorkDir, "data"))
			env.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // nothing on this machine is asked through it
			env.Values["disk"] = map[string][sha256.Size]byte{}
			env.Values["model"] = new(*modeltest.Server)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":      cmdCode,
			"ready":     cmdReady,
			"until":     cmdUntil,
			"snapshot":  cmdSnapshot,
			"unchanged": cmdUnchanged,
			"holdport":  cmdHoldPort,
			"model":     cmdModel,
			"mcp":       cmdMCP,
			"identity":  cmdIdentity,
			"signal":    cmdSignal,
			"field":     cmdField,
			"nowhere":   cmdNowhere,
		},
	})
}

// code N command…: the command ends with exit code N.
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// ready: waits until the server that was started last can be found and answers.
func cmdReady(ts *testscript.TestScript, _ bool, _ []string) {
	all := ts.BackgroundCmds()
	if len(all) == 0 {
		ts.Fatalf("nothing was started")
	}
	pid := all[len(all)-1].Process.Pid
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		if in, err := app.ReadInstance(instanceFile(ts)); err == nil && in.PID == pid {
			return
		}
	}
	ts.Fatalf("process %d is not ready after %v", pid, deadline)
}

// until TEXT command…: runs the command until its output has the text.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
	}
	ts.Fatalf("%q did not come within %v", args[0], deadline)
}

func instanceFile(ts *testscript.TestScript) string {
	return filepath.Join(ts.Getenv(app.EnvDataDir), "instance.json")
}

// snapshot: remembers configuration and data; unchanged: nothing of them is different, but the log, which tells of
// everything at its own time.
func cmdSnapshot(ts *testscript.TestScript, _ bool, _ []string) {
	remembered := ts.Value("disk").(map[string][sha256.Size]byte)
	clear(remembered)
	for path, sum := range onDisk(ts) {
		remembered[path] = sum
	}
}

func cmdUnchanged(ts *testscript.TestScript, _ bool, _ []string) {
	before, now := ts.Value("disk").(map[string][sha256.Size]byte), onDisk(ts)
	for path, sum := range now {
		if filepath.Ext(path) == ".log" {
			continue
		}
		if old, there := before[path]; !there {
			ts.Fatalf("%s was made", path)
		} else if old != sum {
			ts.Fatalf("%s was changed", path)
		}
	}
	for path := range before {
		if _, there := now[path]; !there {
			ts.Fatalf("%s was removed", path)
		}
	}
}

func onDisk(ts *testscript.TestScript) map[string][sha256.Size]byte {
	sums := map[string][sha256.Size]byte{}
	for _, root := range []string{ts.Getenv(app.EnvConfig), ts.Getenv(app.EnvDataDir), ts.Getenv("HOME")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			sums[path] = sha256.Sum256(data)
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) {
			ts.Check(err)
		}
	}
	return sums
}

// holdport: another program listens on $PORT.
func cmdHoldPort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("PORT", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// model hangs: a model provider at $MODEL begins to answer and never ends; model asked: waits until it was asked.
func cmdModel(ts *testscript.TestScript, _ bool, args []string) {
	running := ts.Value("model").(**modeltest.Server)
	switch args[0] {
	case "hangs":
		s, err := modeltest.Start()
		ts.Check(err)
		ts.Defer(s.Close)
		s.Handle(func(*modeltest.Request) modeltest.Script {
			return modeltest.Script{Chunks: []string{"a part "}, Silence: true}
		})
		*running = s
		ts.Setenv("MODEL", s.OpenAIURL())
	case "asked":
		select {
		case <-(*running).Started():
		case <-time.After(deadline):
			ts.Fatalf("the model was not asked within %v", deadline)
		}
	}
}

// mcp STATUS [TOKEN]: the MCP endpoint answers "initialize" with this HTTP status.
func cmdMCP(ts *testscript.TestScript, _ bool, args []string) {
	in, err := app.ReadInstance(instanceFile(ts))
	ts.Check(err)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}`
	req, err := http.NewRequest(http.MethodPost, in.BaseURL+"/mcp", strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if len(args) > 1 {
		req.Header.Set("Authorization", "Bearer "+args[1])
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close() //nolint:errcheck // only the status matters
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("the MCP endpoint answers %s, want %s", got, args[0])
	}
}

// identity FILE: makes a new age identity, to stand for a keyring.
func cmdIdentity(ts *testscript.TestScript, _ bool, args []string) {
	id, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(id.String()+"\n"), 0o600))
}

// signal NAME: sends TERM or INT to what was started last.
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	all := ts.BackgroundCmds()
	ts.Check(all[len(all)-1].Process.Signal(map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT}[args[0]]))
}

// field VARIABLE PATH: takes a value out of the JSON on standard output, by keys and indexes with dots between.
func cmdField(ts *testscript.TestScript, _ bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	for step := range strings.SplitSeq(args[1], ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			ts.Check(err)
			if i >= len(v) {
				ts.Fatalf("%s: there are only %d", args[1], len(v))
			}
			value = v[i]
		}
	}
	if value == nil {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}

// nowhere TEXT: no file of configuration and data holds the text.
func cmdNowhere(ts *testscript.TestScript, _ bool, args []string) {
	for path := range onDisk(ts) {
		data, err := os.ReadFile(path)
		ts.Check(err)
		if bytes.Contains(data, []byte(args[0])) {
			ts.Fatalf("it is in %s", path)
		}
	}
}
