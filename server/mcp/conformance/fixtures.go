package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ionclaw-tray/server/mcp"
)

// redPixel is a PNG of one red pixel, silence a WAV without samples.
var (
	redPixel = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence  = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// fixed makes a tool that always gives the same.
func fixed(name, description string, result *mcp.Result) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: description,
		Handle: func(context.Context, *mcp.Call) (*mcp.Result, error) { return result, nil }}
}

func tools() []*mcp.Tool {
	embedded := mcp.Embedded(mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain",
		Text: "This is an embedded resource content."})
	mixed := mcp.Embedded(mcp.ResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json",
		Text: `{"test":"data","value":123}`})
	return []*mcp.Tool{
		fixed("test_simple_text", "Gives one text block", mcp.TextResult("This is a simple text response for testing.")),
		fixed("test_image_content", "Gives one image", &mcp.Result{Content: []mcp.Content{mcp.Image(redPixel, "image/png")}}),
		fixed("test_audio_content", "Gives one sound", &mcp.Result{Content: []mcp.Content{mcp.Audio(silence, "audio/wav")}}),
		fixed("test_embedded_resource", "Gives one embedded resource", &mcp.Result{Content: []mcp.Content{embedded}}),
		fixed("test_multiple_content_types", "Gives text, an image and a resource", &mcp.Result{Content: []mcp.Content{
			mcp.Text("Multiple content types test:"), mcp.Image(redPixel, "image/png"), mixed}}),
		fixed("test_error_handling", "Fails", mcp.ErrorResult("This tool intentionally returns an error for testing")),
		{Name: "test_tool_with_progress", Description: "Reports progress three times", Handle: withProgress},
		{Name: "test_reconnection", Description: "Closes its stream before the answer is there", Handle: reconnection},
		{Name: "json_schema_2020_12_tool", Description: "Has an input schema with $schema, $defs and additionalProperties",
			InputSchema: json.RawMessage(schema2020), Handle: func(_ context.Context, c *mcp.Call) (*mcp.Result, error) {
				return mcp.TextResult("JSON Schema 2020-12 tool called with: " + string(c.Arguments)), nil
			}},
	}
}

const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
 "$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
 "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
  "contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
 "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
 "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
 "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// pause waits unless the call ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func withProgress(ctx context.Context, c *mcp.Call) (*mcp.Result, error) {
	for _, step := range []string{"0", "50", "100"} {
		c.Progress("Completed step " + step + " of 100")
		if err := pause(ctx, 60*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return mcp.TextResult("done"), nil
}

func reconnection(ctx context.Context, c *mcp.Call) (*mcp.Result, error) {
	c.CloseStream(500 * time.Millisecond)
	if err := pause(ctx, 100*time.Millisecond); err != nil {
		return nil, err
	}
	return mcp.TextResult("Reconnection test completed successfully"), nil
}

// fixtureResources serves the resource fixtures.
type fixtureResources struct{}

func (fixtureResources) List() []mcp.Resource {
	return []mcp.Resource{
		{URI: "test://static-text", Name: "Static text", Description: "A text that never changes", MIMEType: "text/plain"},
		{URI: "test://static-binary", Name: "Static binary", Description: "An image that never changes", MIMEType: "image/png"},
		{URI: "test://watched-resource", Name: "Watched resource", Description: "A resource to subscribe to", MIMEType: "text/plain"},
	}
}

func (fixtureResources) Templates() []mcp.ResourceTemplate {
	return []mcp.ResourceTemplate{{URITemplate: "test://template/{id}/data", Name: "Template", Description: "Data by id", MIMEType: "application/json"}}
}

func (fixtureResources) Read(_ context.Context, uri string) ([]mcp.ResourceContents, error) {
	switch uri {
	case "test://static-text":
		return []mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "This is the content of the static text resource."}}, nil
	case "test://static-binary":
		return []mcp.ResourceContents{{URI: uri, MIMEType: "image/png", Blob: redPixel}}, nil
	case "test://watched-resource":
		return []mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "Watched resource content"}}, nil
	}
	id, found := strings.CutPrefix(uri, "test://template/")
	if id, ok := strings.CutSuffix(id, "/data"); found && ok {
		text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		if err != nil {
			return nil, fmt.Errorf("encoding data of %s: %w", id, err)
		}
		return []mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}, nil
	}
	return nil, mcp.ErrNotFound
}

func (fixtureResources) Canonical(uri string) (string, bool) {
	return uri, strings.HasPrefix(uri, "test://")
}

// completer knows a few cities for anything.
type completer struct{}

func (completer) Complete(_ context.Context, req mcp.CompleteRequest) (mcp.Completion, error) {
	values := []string{}
	for _, city := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(city, req.Value) {
			values = append(values, city)
		}
	}
	return mcp.Completion{Values: values}, nil
}
