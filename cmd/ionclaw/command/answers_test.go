package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ionclaw-tray/app"
)

const (
	infoJSON = `{"key":"` + testKey + `","channel":"cli","display_name":"Say \u001b[31mhi","agent":"main","created_at":"2026-05-17T10:00:00.000Z","updated_at":"2026-05-17T10:01:00.000Z","messages":2,"usage":{}}`
	taskJSON = `{"id":"t1","title":"Say hi","state":"error","channel":"cli","session_id":"` + testKey + `","agent":"main","created_at":"2026-05-17T10:00:00.000Z","updated_at":"2026-05-17T10:00:00.000Z","error_message":"no model","iteration_count":1,"tool_count":0,"usage":{}}`
)

func full() map[string]http.HandlerFunc {
	chat := strings.Replace(infoJSON, `"messages":2`, `"messages":[
		{"seq":3,"role":"user","content":"hi","timestamp":"2026-05-17T10:00:00.000Z"},
		{"seq":4,"role":"assistant","agent":"main","content":"","tool_calls":[{"id":"1","name":"clock","arguments":{"zone":"UTC"}}],"timestamp":"2026-05-17T10:00:01.000Z"},
		{"seq":5,"role":"assistant","agent":"main","content":"noon","error":"cut off","timestamp":"2026-05-17T10:00:02.000Z"}]`, 1)
	return map[string]http.HandlerFunc{
		"GET /api/sessions":                     says(`{"sessions":[` + infoJSON + `],"next_cursor":"c1"}`),
		"GET /api/sessions/{key}":               says(chat),
		"PATCH /api/sessions/{key}":             says(infoJSON),
		"DELETE /api/sessions/{key}":            says(`{"status":"deleted"}`),
		"GET /api/tasks":                        says(`{"tasks":[` + taskJSON + `]}`),
		"GET /api/tasks/t1":                     says(taskJSON),
		"POST /api/tasks/t1/abort":              says(`{"status":"not_running"}`),
		"POST /api/tasks/t2/abort":              says(`{"status":"aborted"}`),
		"GET /api/agents":                       says(`{"agents":[{"name":"main","description":"General","model":"builtin/offline"}]}`),
		"GET /api/agents/main":                  says(`{"name":"main","model":"m/x","tools":["*"],"max_iterations":40,"max_history":100,"params":{"temperature":0.5},"instructions":"Be brief.\n"}`),
		"DELETE /api/agents/main":               says(`{"status":"deleted"}`),
		"GET /api/credentials":                  says(`{"credentials":[{"name":"anthropic","type":"simple","source":"keyring","used_by":["providers.anthropic"]},{"name":"new","type":"simple","problem":"no key"}]}`),
		"POST /api/credentials/{name}/generate": says(`{"name":"x","status":"generated"}`),
		"POST /api/credentials/{name}/reveal":   says(`{"key":"the-key"}`),
		"PUT /api/credentials/{name}":           says(`{"name":"x","status":"stored"}`),
		"DELETE /api/credentials/{name}":        says(`{"status":"deleted"}`),
		"POST /api/channels/mcp/start":          says(`{"status":"started"}`),
		"POST /api/channels/mcp/stop":           says(`{"status":"stopped"}`),
		"GET /api/status":                       says(`{"version":"1.2.3","pid":7,"uptime_seconds":65,"agents":1,"mcp":{"url":"http://127.0.0.1:1/mcp","running":true},"secrets":[{"source":"keyring","available":true}],"problems":[{"about":"storage","text":"disk full"}]}`),
	}
}

func TestAnswersForPeople(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"sessions list", 0, "KEY                                       UPDATED  MESSAGES  AGENT  NAME\n" + testKey + "  12:01    2         main   Say [31mhi\n", "add --cursor c1\n"},
		{"sessions show " + testKey, 0, "\n[3] user  12:00\nhi\n\n[4] main  12:00\n→ clock {\"zone\":\"UTC\"}\n\n[5] main  12:00\nnoon\n! cut off\n", "add --before 3"},
		{"sessions rename " + testKey + " x", 0, `is now "Say [31mhi"`, ""},
		{"sessions delete " + testKey, 0, "Deleted " + testKey, ""},
		{"tasks list", 0, "ID  STATE  CREATED  CHANNEL  AGENT  TITLE\nt1  error  12:00    cli      main   Say hi\n", ""},
		{"tasks show t1", 0, "State    error\n", ""},
		{"tasks abort t2", 0, "Aborted t2", ""},
		{"tasks abort t1", 1, "", "is not running any more"},
		{"agents list", 0, "NAME  MODEL            DESCRIPTION\nmain  builtin/offline  General\n", ""},
		{"agents show main", 0, "Temperature  0.5\n\nBe brief.\n", ""},
		{"agents delete main", 0, "Deleted agent main", ""},
		{"credential list", 0, "NAME       KEPT IN  USED BY              PROBLEM\nanthropic  keyring  providers.anthropic\nnew                                      no key\n", ""},
		{"credential generate mcp_token", 0, "Show it with: ionclaw credential show mcp_token", ""},
		{"credential generate anthropic", 1, "", "is the key of provider anthropic"},
		{"credential generate anthropic --replace", 0, "stored as anthropic", ""},
		{"credential show x --reveal", 0, "the-key\n", ""},
		{"credential delete x", 0, "Deleted credential x", ""},
		{"start", 0, "MCP endpoint  http://127.0.0.1:8080/mcp\n", ""},
		{"stop", 0, "The MCP endpoint http://127.0.0.1:8080/mcp is closed.", ""},
		{"status", 0, "IonClaw 1.2.3 is running (process 7, up 1 min).", ""},
		{"status", 0, "\nProblem (storage): disk full\n", ""},
		{"version", 0, "ionclaw 1.2.3 (go", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			w := newWorld(t)
			w.program(full())
			w.wantRun(tt.code, tt.stdout, tt.stderr, strings.Fields(tt.args)...)
		})
	}
}

func TestAnswersForPrograms(t *testing.T) {
	for args, want := range map[string]string{
		"sessions list":                     `"next_cursor":"c1"`,
		"sessions show " + testKey:          `"messages":[{"seq":3`,
		"sessions rename " + testKey + " x": `"key":"` + testKey + `"`,
		"sessions delete " + testKey:        `{"status":"deleted"}`,
		"tasks list":                        `{"tasks":[{"id":"t1"`,
		"tasks show t1":                     `{"id":"t1"`,
		"tasks abort t2":                    `{"status":"aborted"}`,
		"agents list":                       `{"agents":[{"name":"main"`,
		"agents show main":                  `"max_iterations":40`,
		"agents delete main":                `{"status":"deleted"}`,
		"credential list":                   `{"credentials":[{"name":"anthropic"`,
		"credential generate x":             `{"name":"x","status":"generated"}`,
		"credential show x --reveal":        `{"name":"x","key":"the-key"}`,
		"credential delete x":               `{"name":"x","status":"deleted"}`,
		"start":                             `{"status":"started","url":"http://127.0.0.1:8080/mcp"}`,
		"stop":                              `{"status":"stopped","url":"http://127.0.0.1:8080/mcp"}`,
		"status":                            `"uptime_seconds":65`,
		"version":                           `{"version":"1.2.3","go":"`,
		"config path":                       `{"config":"`,
	} {
		t.Run(args, func(t *testing.T) {
			w := newWorld(t)
			w.program(full())
			w.wantRun(0, "", "", append(strings.Fields(args), "--json")...)
			var compact strings.Builder
			var raw json.RawMessage
			if err := json.Unmarshal([]byte(w.out.String()), &raw); err != nil {
				t.Fatalf("not JSON: %v\n%s", err, w.out.String())
			}
			if err := json.NewEncoder(&compact).Encode(raw); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(compact.String(), want) || w.err.String() != "" {
				t.Errorf("got %s\nwant %s\nstderr %q", compact.String(), want, w.err.String())
			}
		})
	}
}

func TestWhatNeedsARunningProgram(t *testing.T) {
	for _, args := range []string{
		"status", "start", "stop", "chat hi", "sessions delete " + testKey, "sessions rename " + testKey + " x", "tasks abort t",
	} {
		t.Run(args, func(t *testing.T) {
			w := newWorld(t)
			w.wantRun(6, "", "ionclaw: IonClaw is not running\nhint: start it with \"ionclaw serve\"\n", strings.Fields(args)...)
			w.empty()
		})
	}
}

func TestReadingBeforeTheFirstStartMakesNothing(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"sessions list", 0, "", "No chats."},
		{"sessions list --json", 0, `"sessions": []`, ""},
		{"sessions show " + testKey, 1, "", "there is no chat " + testKey},
		{"tasks list", 0, "", "No tasks."},
		{"tasks list --json", 0, `"tasks": []`, ""},
		{"tasks show x", 1, "", "there is no task x"},
		{"agents list", 0, "main  builtin/offline", ""},
		{"agents show main", 0, "builtin/offline", ""},
		{"agents show x", 1, "", `there is no agent "x"`},
		{"agents delete main", 1, "", "agent"},
		{"credential list", 0, "", "No credentials."},
		{"credential list --json", 0, `"credentials": []`, ""},
		{"credential show x --reveal", 5, "", `there is no credential "x"`},
		{"credential delete x", 5, "", `there is no credential "x"`},
		{"config path", 0, "config.yml\n", ""},
		{"config check", 2, "", "there is no configuration file"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			w := newWorld(t)
			w.wantRun(tt.code, tt.stdout, tt.stderr, strings.Fields(tt.args)...)
			w.empty()
		})
	}
}

func TestConfigCheck(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		code       int
		stderr     string
	}{
		{"valid", "server: {port: 9000}\n", 0, ""},
		{"empty", "", 0, ""},
		{"unknown key", "server:\n  prot: 9000\n", 2, "config.yml:2:3: "},
		{"no YAML", "server: [\n", 2, "config.yml:"},
		{"open to the network", "server: {host: 0.0.0.0}\n", 2, "config.yml:1:16: "},
		{"unknown provider", "agents:\n  main:\n    model: nobody/x\n", 2, "config.yml:3:12: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if err := os.WriteFile(filepath.Join(w.dir, "config.yml"), []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			w.wantRun(tt.code, "", tt.stderr, "config", "check")
		})
	}
}

func TestProblemsOfAConfigurationAsJSON(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.dir, "config.yml"), []byte("server:\n  prot: 1\nnonsense: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wantRun(2, "", "", "config", "check", "--json")
	e := w.errorOf()
	if e.Code != app.CodeInvalidConfig || len(e.Problems) != 2 || e.Problems[0].Line != 2 || e.Problems[0].Column != 3 || e.Problems[1].Line != 3 {
		t.Errorf("got %+v", e)
	}
}

func TestUnreadableConfiguration(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.dir, "config.yml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"config check", "agents list", "credential list", "credential generate x"} {
		w.wantRun(2, "", "ionclaw: ", strings.Fields(args)...)
	}
}

func TestDamagedInstanceFileIsNoRunningProgram(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.Paths("", "").Instance, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wantRun(6, "", "is not running", "status")
}
