package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Channels a chat can come from.
const (
	ChannelMCP     = "mcp"
	ChannelDesktop = "desktop"
	ChannelAPI     = "api"
	ChannelCLI     = "cli"
)

// ErrBadKey is wrapped by every error of Parse.
var ErrBadKey = errors.New("not a session id")

// Key names one chat. Its text form is "channel:uuid"; that is what results show.
type Key struct {
	Channel string
	ID      string // canonical lower-case UUID
}

// NewKey makes a key with a random id.
func NewKey(channel string) Key { return Key{Channel: channel, ID: uuid.NewString()} }

// String returns the base form "channel:uuid".
func (k Key) String() string { return k.Channel + ":" + k.ID }

// IsZero reports whether the key is unset.
func (k Key) IsZero() bool { return k == Key{} }

// Stored returns the form under which the chat of an agent is kept: "agent:{agent}:{channel}:{uuid}".
func (k Key) Stored(agent string) string { return "agent:" + agent + ":" + k.String() }

// Short is the label of a chat that has no message yet, for example "MCP f4ec566c".
func (k Key) Short() string {
	id, _, _ := strings.Cut(k.ID, "-")
	name := strings.ToUpper(k.Channel[:1]) + k.Channel[1:]
	if k.Channel == ChannelMCP || k.Channel == ChannelAPI || k.Channel == ChannelCLI {
		name = strings.ToUpper(k.Channel)
	}
	return name + " " + id
}

// MarshalText and UnmarshalText make a Key a JSON string in its base form.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts every form that Parse does.
func (k *Key) UnmarshalText(b []byte) error {
	p, err := Parse(string(b))
	if err != nil {
		return err
	}
	*k = p
	return nil
}

// Parse reads a bare uuid (channel mcp assumed), "channel:uuid", or "agent:{agent}:{channel}:{uuid}".
// The agent part of the last form does not identify a chat and is dropped.
func Parse(s string) (Key, error) {
	rest := s
	if after, ok := strings.CutPrefix(rest, "agent:"); ok {
		// Agent names hold no colon (config rejects it), so the first one ends the name.
		_, tail, found := strings.Cut(after, ":")
		if !found {
			return Key{}, badKey(s)
		}
		rest = tail
	}
	channel, id, found := strings.Cut(rest, ":")
	if !found {
		channel, id = ChannelMCP, rest
	}
	if !knownChannel(channel) || len(id) != 36 {
		return Key{}, badKey(s)
	}
	u, err := uuid.Parse(id)
	if err != nil {
		return Key{}, badKey(s)
	}
	return Key{Channel: channel, ID: u.String()}, nil
}

func knownChannel(c string) bool {
	switch c {
	case ChannelMCP, ChannelDesktop, ChannelAPI, ChannelCLI:
		return true
	}
	return false
}

// maxShownKey bounds how much of a wrong key an error repeats.
const maxShownKey = 80

func badKey(s string) error {
	if len(s) > maxShownKey {
		s = strings.ToValidUTF8(s[:maxShownKey], "") + "…"
	}
	return fmt.Errorf("%w: %q; use a uuid, channel:uuid (channels: mcp, desktop, api, cli) or agent:name:channel:uuid", ErrBadKey, s)
}
