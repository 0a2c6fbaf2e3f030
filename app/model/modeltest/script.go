package modeltest

import (
	"net/http"
	"time"

	"ionclaw-tray/app/session"
)

// Style is a wire style.
type Style string

// The two wire styles.
const (
	Anthropic Style = "anthropic"
	OpenAI    Style = "openai"
)

// Script is what one request gets. The zero Script is an empty, complete answer. The parts happen in this order:
// Hang, then Status with Body (and nothing else), or headers, Silence, Reasoning, Chunks, ToolCalls, and one ending.
type Script struct {
	Reasoning []string // thinking, before the text
	Chunks    []string // pieces of the answer
	// Gate, when set, gives the right for one piece (reasoning or text) with each value; closing it frees the rest.
	Gate <-chan struct{}
	// Delay comes before each piece. For programs that show streaming; tests use Gate.
	Delay     time.Duration
	ToolCalls []ToolCall
	// Usage is what the answer reports. Nil: none (OpenAI), zeros (Anthropic). Input does not include cached tokens.
	Usage *session.Usage
	// Finish is the reason in the style's own words, for example "length" or "max_tokens"; "": the usual one.
	Finish string

	Status int         // other than 0 and 200: answered with Body, no stream
	Header http.Header // added to the answer
	Body   string      // with Status; or alone, the whole body of a 200 (Content-Type through Header)

	Hang    bool            // headers are not sent until Release, or until the client or the server is gone
	Silence bool            // the same, after the headers
	Release <-chan struct{} // ends Hang and Silence; the script then goes on

	CloseMidStream bool   // the connection breaks instead of an ending
	NoFinish       bool   // the body ends properly, but without the style's end
	ErrorEvent     string // JSON of an error event instead of an ending
}

// ToolCall is a tool call of an answer. Arguments may be anything, also broken JSON.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
	Pieces    int // in how many deltas the arguments come; 0 means 1
}

// pieces cuts the arguments as the script says, between characters.
func (c ToolCall) pieces() []string {
	if c.Pieces <= 1 {
		return []string{c.Arguments}
	}
	var out []string
	runes := []rune(c.Arguments)
	for i := range c.Pieces {
		out = append(out, string(runes[i*len(runes)/c.Pieces:(i+1)*len(runes)/c.Pieces]))
	}
	return out
}
