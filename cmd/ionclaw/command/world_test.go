package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/server"
)

// world is a system in which a test runs commands.
type world struct {
	System
	t        *testing.T
	dir      string
	out, err lockedBuffer
	signals  chan os.Signal
	exited   chan int
}

// lockedBuffer may be written and read from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), signals: make(chan os.Signal, 2), exited: make(chan int, 1)}
	w.System = System{
		In: strings.NewReader(""), Out: &w.out, Err: &w.err,
		Secret:  func() (string, error) { t.Error("asked the terminal"); return "", io.EOF },
		Serve:   func(context.Context, server.Options) error { t.Error("served"); return nil },
		Signals: func() (<-chan os.Signal, func()) { return w.signals, func() {} },
		Exit:    func(code int) { w.exited <- code },
		Now:     func() time.Time { return time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC) },
		Zone:    time.FixedZone("here", 2*3600),
		Version: "1.2.3",
		Paths: func(config, data string) app.Paths {
			p := app.Paths{
				Config: filepath.Join(w.dir, "config.yml"), Data: filepath.Join(w.dir, "data"),
				Log: filepath.Join(w.dir, "ionclaw.log"), Instance: filepath.Join(w.dir, "instance.json"),
			}
			if config != "" {
				p.Config = config
			}
			if data != "" {
				p.Data = data
			}
			return p
		},
	}
	return w
}

// run runs one command and returns its exit code.
func (w *world) run(args ...string) int {
	w.t.Helper()
	return Main(w.t.Context(), args, w.System)
}

// wantRun runs a command that has to end with a code, and checks what it prints.
func (w *world) wantRun(code int, stdout, stderr string, args ...string) {
	w.t.Helper()
	got := w.run(args...)
	if got != code || !strings.Contains(w.out.String(), stdout) || !strings.Contains(w.err.String(), stderr) {
		w.t.Errorf("ionclaw %s\ngot code %d, stdout:\n%s\nstderr:\n%s\nwant code %d, in stdout %q, in stderr %q",
			strings.Join(args, " "), got, w.out.String(), w.err.String(), code, stdout, stderr)
	}
}

// program lets a running program answer the routes.
func (w *world) program(routes map[string]http.HandlerFunc) {
	w.t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/channels/mcp", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"name":"mcp","running":true,"url":"http://127.0.0.1:8080/mcp","clients":[]}`)
	})
	for pattern, h := range routes {
		mux.HandleFunc(pattern, h)
	}
	srv := httptest.NewServer(mux)
	w.t.Cleanup(srv.Close)
	in := app.Instance{PID: 1, BaseURL: srv.URL, Token: "t", Version: "1.2.3"}
	if err := app.WriteInstance(w.Paths("", "").Instance, in); err != nil {
		w.t.Fatal(err)
	}
}

// says is a handler with a fixed answer.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

// event writes one event of a stream.
func event(w http.ResponseWriter, name, data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	http.NewResponseController(w).Flush()
}

// errorOf reads the JSON error on standard error.
func (w *world) errorOf() (e errorBody) {
	w.t.Helper()
	var answer struct {
		Error errorBody `json:"error"`
	}
	if err := json.Unmarshal([]byte(w.err.String()), &answer); err != nil {
		w.t.Fatalf("standard error is not JSON: %v\n%s", err, w.err.String())
	}
	return answer.Error
}

// empty checks that a command left nothing on disk.
func (w *world) empty() {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		w.t.Errorf("%s was made", e.Name())
	}
}
