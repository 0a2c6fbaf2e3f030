package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The client of the Go SDK, an implementation that is not ours, at each revision. Asked for the stateless one it sends
// server/discover first and has to fall back.
func TestSDKClient(t *testing.T) {
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) { runSDKClient(t, version, version) })
	}
	t.Run("fallback", func(t *testing.T) { runSDKClient(t, firstStateless, Revision2025_11_25) })
}

func runSDKClient(t *testing.T, asked, version string) {
	f := newFixture(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	progress := make(chan string, 10)
	updated := make(chan string, 10)
	client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			progress <- fmt.Sprintf("%v %g %s", req.Params.ProgressToken, req.Params.Progress, req.Params.Message)
		},
		ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
	})
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: f.url, HTTPClient: f.client},
		&sdk.ClientSessionOptions{ProtocolVersion: asked})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	if got := session.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "ionclaw" || got.Instructions != "Use it." {
		t.Errorf("initialize: got %+v, want %s", got, version)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Errorf("ping: %v", err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 10 || tools.Tools[0].Name != "echo" {
		t.Errorf("tools: got %+v, %v", tools, err)
	}
	if list, err := session.ListResources(ctx, nil); err != nil || len(list.Resources) != 1 {
		t.Errorf("resources: got %+v, %v", list, err)
	}
	if list, err := session.ListResourceTemplates(ctx, nil); err != nil || len(list.ResourceTemplates) != 1 {
		t.Errorf("templates: got %+v, %v", list, err)
	}
	read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "test://one"})
	if err != nil || read.Contents[0].Text != "eins <&>" {
		t.Errorf("read: got %+v, %v", read, err)
	}
	if _, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "test://no"}); err == nil || !strings.Contains(err.Error(), "unknown resource") {
		t.Errorf("reading an unknown resource: got %v", err)
	}
	if err := session.Subscribe(ctx, &sdk.SubscribeParams{URI: "test://one"}); err != nil {
		t.Errorf("subscribe: %v", err)
	}
	f.mcp.ResourceChanged("test://one")
	if got := within(t, "update", updated); got != "test://one" {
		t.Errorf("updated: got %s", got)
	}
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "hello"}})
	if err != nil || result.Content[0].(*sdk.TextContent).Text != "hello" || result.IsError {
		t.Errorf("echo: got %+v, %v", result, err)
	}
	if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "nope"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("unknown tool: got %v", err)
	}

	params := &sdk.CallToolParams{Name: "stream", Arguments: map[string]any{}}
	params.SetProgressToken("tok")
	done := make(chan error, 1)
	go func() {
		result, err := session.CallTool(ctx, params)
		if err == nil && result.Content[0].(*sdk.TextContent).Text != "3 chunks" {
			err = fmt.Errorf("got %+v", result.Content[0])
		}
		done <- err
	}()
	within(t, "start", f.started)
	for i := range 3 {
		f.chunks <- fmt.Sprintf("chunk %d", i)
		if got, want := within(t, "progress", progress), fmt.Sprintf("tok %d chunk %d", i+1, i); got != want {
			t.Errorf("progress: got %q, want %q", got, want)
		}
	}
	close(f.chunks)
	if err := within(t, "end of the streamed call", done); err != nil {
		t.Errorf("stream: %v", err)
	}

	callCtx, cancel := context.WithCancel(ctx)
	go func() {
		_, err := session.CallTool(callCtx, &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{}})
		done <- err
	}()
	within(t, "start", f.started)
	cancel()
	if err := within(t, "cancelled call", done); err == nil {
		t.Error("cancelled call: got no error")
	}
	if cause := within(t, "end", f.ended); cause != ErrCancelled {
		t.Errorf("cause: got %v, want %v", cause, ErrCancelled)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Errorf("ping after a cancellation: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if c := f.mcp.Clients(); len(c) != 0 {
		t.Errorf("clients after close: got %+v, want none", c)
	}
}
