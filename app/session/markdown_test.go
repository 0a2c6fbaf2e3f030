package session

import (
	"encoding/json"
	"testing"
	"time"
)

func TestMarkdown(t *testing.T) {
	at := At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	key := Key{Channel: ChannelMCP, ID: id}
	const head = "Chat `mcp:" + id + "`, begun 2026-01-02T03:04:05.000Z, last changed 2026-01-02T03:04:05.000Z.\n"
	for _, c := range []struct {
		name     string
		chat     Info
		messages []Message
		want     string
	}{
		{"empty and without a name", Info{Key: key, CreatedAt: at, UpdatedAt: at}, nil, "# MCP f4ec566c\n\n" + head},
		{"a name with markup", Info{Key: key, DisplayName: "a *b* <c> `d`", CreatedAt: at, UpdatedAt: at}, nil,
			"# a \\*b\\* \\<c\\> \\`d\\`\n\n" + head},
		{"all there can be", Info{Key: key, DisplayName: "n", CreatedAt: at, UpdatedAt: at}, []Message{
			{Role: RoleUser, Content: "Hello\n\n* as it is *", Timestamp: at},
			{Role: RoleAssistant, Agent: "main_1", Content: "one moment", Timestamp: at, ToolCalls: []ToolCall{{Name: "clock", Arguments: json.RawMessage(`{"a":1}`)}}},
			{Role: RoleTool, Content: "```\n# no heading\n```", Timestamp: at},
			{Role: RoleAssistant, Agent: "main_1", Content: "half an", Timestamp: at, Error: "It failed.\nTry again.", Aborted: true},
			{Role: RoleAssistant, Timestamp: at, Aborted: true},
		}, "# n\n\n" + head +
			"\n## user, 2026-01-02T03:04:05.000Z\n\nHello\n\n* as it is *\n" +
			"\n## main\\_1, 2026-01-02T03:04:05.000Z\n\none moment\n\nCall of clock:\n\n```json\n{\"a\":1}\n```\n" +
			"\n## tool, 2026-01-02T03:04:05.000Z\n\n````\n```\n# no heading\n```\n````\n" +
			"\n## main\\_1, 2026-01-02T03:04:05.000Z\n\nhalf an\n\n> It failed.\n> Try again.\n" +
			"\n## assistant, 2026-01-02T03:04:05.000Z\n\n> aborted\n"},
	} {
		if got := Markdown(c.chat, c.messages); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
