package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
)

// row is how a chat is kept: all that a list shows, so that a list reads no message.
type row struct {
	session.Info
	Chat   uint64 `json:"chat"`            // number of the chat, prefix of its messages
	Order  uint64 `json:"order"`           // number of its last change
	Last   uint64 `json:"last"`            // number of its last message
	Opener string `json:"opener"`          // the agent who opened it, part of the stored key
	Named  bool   `json:"named,omitempty"` // the display name is not the makeshift one any more
}

func (r *row) stored() []byte { return []byte(r.Key.Stored(r.Opener)) }

// orderEntry is what the list is filtered by without reading rows: "{channel}:{uuid}" 0 opener 0 folded name.
func (r *row) orderEntry() []byte {
	return []byte(r.Key.String() + "\x00" + r.Opener + "\x00" + fold(r.DisplayName))
}

// parseOrder takes an orderEntry apart without copying it.
func parseOrder(v []byte) (base, opener, name []byte, err error) {
	base, rest, ok1 := bytes.Cut(v, []byte{0})
	opener, name, ok2 := bytes.Cut(rest, []byte{0})
	if !ok1 || !ok2 {
		return nil, nil, nil, fmt.Errorf("reading the order of chats: %w", ErrDamaged)
	}
	return base, opener, name, nil
}

// storedKey joins the parts of an orderEntry to the key of the row.
func storedKey(base, opener []byte) []byte {
	return bytes.Join([][]byte{[]byte("agent"), opener, base}, []byte{':'})
}

// readRow finds a chat by its base key; nil if there is none.
func readRow(tx *bolt.Tx, key session.Key) (*row, error) {
	stored := tx.Bucket(bucketKeys).Get([]byte(key.String()))
	if stored == nil {
		return nil, nil
	}
	return readStored(tx, stored)
}

func readStored(tx *bolt.Tx, stored []byte) (*row, error) {
	var r row
	err := decode("a chat", tx.Bucket(bucketSessions).Get(stored), &r)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// openRow finds a chat or begins it.
func (c *change) openRow(key session.Key, agent string) (*row, bool, error) {
	r, err := readRow(c.tx, key)
	if err != nil || r != nil {
		return r, false, err
	}
	now := c.now()
	r = &row{Info: session.Info{Key: key, Channel: key.Channel, DisplayName: key.Short(), CreatedAt: now, UpdatedAt: now}, Opener: agent}
	if r.Chat, err = c.next(bucketSessions); err != nil {
		return nil, false, err
	}
	return r, true, c.put(bucketKeys, []byte(key.String()), r.stored())
}

// adopt gives a chat that was opened before an agent was chosen to its first agent.
func (c *change) adopt(r *row, agent string) error {
	if r.Opener != "" || agent == "" {
		return nil
	}
	if err := c.del(bucketSessions, r.stored()); err != nil {
		return err
	}
	r.Opener = agent
	return c.put(bucketKeys, []byte(r.Key.String()), r.stored())
}

// saveRow stores a changed chat and says so. With move it becomes the newest of the list.
func (c *change) saveRow(r *row, move bool) error {
	if move {
		if r.Order != 0 {
			if err := c.del(bucketOrder, number8(r.Order)); err != nil {
				return err
			}
		}
		n, err := c.next(bucketOrder)
		if err != nil {
			return err
		}
		r.Order = n
	}
	if err := c.put(bucketOrder, number8(r.Order), r.orderEntry()); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing a chat: %w", err)
	}
	if err := c.put(bucketSessions, r.stored(), b); err != nil {
		return err
	}
	c.emit(event.SessionChanged{Session: r.Info})
	return nil
}

// touch moves the time of the last change forward, never back.
func (r *row) touch(t session.Time) {
	if r.UpdatedAt.Before(t.Time) {
		r.UpdatedAt = t
	}
}

// maxAgentName bounds the agent part of a stored key, in bytes.
const maxAgentName = 256

// checkNames refuses what would break the form of stored keys.
func checkNames(key session.Key, agent string) error {
	if p, err := session.Parse(key.String()); err != nil {
		return fmt.Errorf("storing a chat: %w", err)
	} else if p != key {
		return fmt.Errorf("storing a chat: %w: the key %q is not in its canonical form", ErrInvalid, key)
	}
	if len(agent) > maxAgentName || strings.ContainsAny(agent, ":\x00") {
		return fmt.Errorf("storing a chat: %w: an agent's name has at most %d bytes and no colon", ErrInvalid, maxAgentName)
	}
	return nil
}
