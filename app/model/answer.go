package model

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"ionclaw-tray/app/session"
)

// maxAnswer bounds the text and the tool arguments of one answer together.
const maxAnswer = 32 << 20

// RawArgumentsKey is the only key of the arguments of a call whose model wrote no JSON object; its value is what the
// model wrote. See BadArguments.
const RawArgumentsKey = "_raw_arguments"

// BadArguments reports whether the arguments of a call are not what the model wrote, because that was no JSON object,
// and returns what it wrote. Such a call must not run: its result is an error that tells the model.
func BadArguments(c session.ToolCall) (raw string, bad bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &m) != nil {
		return string(c.Arguments), true
	}
	v, found := m[RawArgumentsKey]
	if !found || len(m) != 1 || json.Unmarshal(v, &raw) != nil {
		return "", false
	}
	return raw, true
}

// arguments makes a JSON object of what a model wrote as arguments. Nothing and null are an empty object; an object
// inside a JSON string, which some models write, is taken out of it; everything else is kept under RawArgumentsKey.
func arguments(raw string) json.RawMessage {
	b := bytes.TrimSpace([]byte(raw))
	if len(b) == 0 || string(b) == "null" {
		return emptyObject
	}
	if object(b) {
		return b
	}
	var inner string
	if json.Unmarshal(b, &inner) == nil {
		if in := bytes.TrimSpace([]byte(inner)); object(in) {
			return in
		} else if len(in) == 0 {
			return emptyObject
		}
	}
	// Invalid UTF-8 becomes replacement characters here; the model only needs to recognise its own words.
	wrapped, err := json.Marshal(map[string]string{RawArgumentsKey: raw})
	if err != nil {
		return emptyObject // strings always marshal
	}
	return wrapped
}

func object(b []byte) bool { return len(b) > 0 && b[0] == '{' && json.Valid(b) }

// answer collects a response while it arrives.
type answer struct {
	emit      func(Chunk)
	text      strings.Builder
	calls     []*call
	usage     session.Usage
	truncated bool
	filtered  bool
	size      int
}

// call is a tool call that arrives in pieces.
type call struct {
	id, name string
	whole    string // arguments that came at once, used when no pieces follow
	args     strings.Builder
}

// write adds text and passes it on; also without text, because every event shows that the model is alive.
func (a *answer) write(text string) error {
	if err := a.grow(len(text)); err != nil {
		return err
	}
	a.text.WriteString(text)
	if a.emit != nil {
		a.emit(Chunk{Text: text})
	}
	return nil
}

func (a *answer) grow(n int) error {
	a.size += n
	if a.size > maxAnswer {
		return errTooLong
	}
	return nil
}

// response is what has been collected so far. Every call gets an id of its own.
func (a *answer) response() Response {
	r := Response{Text: a.text.String(), Usage: a.usage, Truncated: a.truncated}
	used := make(map[string]bool)
	for _, c := range a.calls {
		if c.name == "" {
			continue // nothing that could be called or answered
		}
		if c.id == "" || used[c.id] {
			c.id = "call_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		}
		used[c.id] = true
		raw := c.args.String()
		if raw == "" {
			raw = c.whole
		}
		r.ToolCalls = append(r.ToolCalls, session.ToolCall{ID: c.id, Name: c.name, Arguments: arguments(raw)})
	}
	return r
}

// empty reports whether nothing worth showing arrived.
func (a *answer) empty() bool { return a.text.Len() == 0 && len(a.calls) == 0 }
