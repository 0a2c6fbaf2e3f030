package channel

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ionclaw-tray/app/model/modeltest"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// connect opens a session with the reference client.
func connect(t *testing.T, e *endpoint, revision string, progress func(*sdk.ProgressNotificationParams)) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "reference", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if progress != nil {
				progress(r.Params)
			}
		},
	})
	cs, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: e.url + Path}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connecting at %s: %v", revision, err)
	}
	if got := cs.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("negotiated revision: got %s, want %s", got, revision)
	}
	return cs
}

func TestReferenceClient(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			e := open(t, t.TempDir(), scripted)
			e.start(t)
			var mu sync.Mutex
			var steps []float64
			var text strings.Builder
			cs := connect(t, e, revision, func(p *sdk.ProgressNotificationParams) {
				mu.Lock()
				defer mu.Unlock()
				steps = append(steps, p.Progress)
				text.WriteString(p.Message)
			})

			tools, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			want := "chat abort list_sessions get_session delete_session list_agents list_tasks get_task"
			if got := strings.Join(names, " "); got != want {
				t.Fatalf("tools: got %q, want %q", got, want)
			}

			gate := make(chan struct{})
			e.models.Push(modeltest.Script{Chunks: []string{"Hello ", "dear ", "client."}, Gate: gate})
			go func() {
				for range 3 {
					gate <- struct{}{}
				}
			}()
			params := &sdk.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "hi"}}
			params.SetProgressToken("tok")
			res, err := cs.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Content[0].(*sdk.TextContent).Text; got != "Hello dear client." || res.IsError {
				t.Errorf("chat: got %q, isError %v", got, res.IsError)
			}
			key, _ := res.Meta[metaSession].(string)
			taskID, _ := res.Meta[metaTask].(string)
			if key != "mcp:"+cs.ID() || taskID == "" || res.Meta[metaAgent] != "main" {
				t.Errorf("_meta: got %v", res.Meta)
			}
			// Notifications are handled beside responses by this client, so the last may come after the result.
			waitFor(t, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(text.String(), "Hello dear client.")
			})
			mu.Lock()
			for i := 1; i < len(steps); i++ {
				if steps[i] <= steps[i-1] {
					t.Errorf("progress does not increase: %v", steps)
				}
			}
			mu.Unlock()

			for tool, args := range map[string]map[string]any{
				"list_sessions": nil, "list_agents": nil, "list_tasks": {"limit": 10},
				"get_session": {"session_id": key}, "get_task": {"task_id": taskID}, "abort": {"session_id": key},
			} {
				if args == nil {
					args = map[string]any{}
				}
				r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
				if err != nil || r.IsError || r.StructuredContent == nil {
					t.Errorf("%s: got %+v, %v", tool, r, err)
				}
			}

			resources, err := cs.ListResources(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			uris := []string{uriSessions + "/" + key, uriTasks + "/" + taskID}
			for _, r := range resources.Resources {
				uris = append(uris, r.URI)
			}
			if len(uris) != 5 {
				t.Errorf("resources: got %v", uris)
			}
			for _, uri := range uris {
				r, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				if err != nil || len(r.Contents) != 1 || !json.Valid([]byte(r.Contents[0].Text)) || r.Contents[0].MIMEType != jsonType {
					t.Errorf("reading %s: got %+v, %v", uri, r, err)
				}
			}
			if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "ionclaw://nothing"}); err == nil {
				t.Error("an unknown resource was read")
			}

			e.models.Push(modeltest.Script{Hang: true})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "think"}})
				done <- err
			}()
			<-e.models.Started() // the first chat
			hung := <-e.models.Started()
			cancel()
			if err := <-done; err == nil {
				t.Error("a cancelled call returned a result")
			}
			select {
			case <-hung.Gone():
			case <-time.After(5 * time.Second):
				t.Error("the model request survived notifications/cancelled")
			}

			r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete_session", Arguments: map[string]any{"session_id": key}})
			if err != nil || r.IsError {
				t.Errorf("delete_session: got %+v, %v", r, err)
			}
			if err := cs.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			if left := e.channel.Clients(); len(left) != 0 {
				t.Errorf("clients after DELETE: got %v, want none", left)
			}
		})
	}
}

// waitFor waits for something that another goroutine does soon.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain")
		}
	}
}
