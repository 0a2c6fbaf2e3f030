package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
)

const (
	// DefaultMessages is how many messages a read returns that names no limit.
	DefaultMessages = 200
	// MaxMessages is how many messages one read returns at most.
	MaxMessages = 10_000
)

// Append adds messages to a chat and creates it if needed, also when it was deleted a moment ago. Each message gets
// the next sequence number; one without a time gets the present one. The chat's row follows: name (from the first
// user message with visible text), time, counters, usage, agent. The store keeps copies of the messages.
func (s *Store) Append(key session.Key, agent string, msgs ...session.Message) *Pending {
	if err := checkNames(key, agent); err != nil {
		return failed(err)
	}
	if len(msgs) == 0 {
		return s.CreateSession(key, agent)
	}
	a := &appended{key: key, agent: agent, msgs: slices.Clone(msgs), values: make([][]byte, len(msgs))}
	size := 0
	for i := range a.msgs {
		if err := a.encode(i, s.opt.now); err != nil {
			return failed(err)
		}
		size += 2 * len(a.values[i])
	}
	return s.enqueue(s.life, size, func(c *change) error { return c.append(a) })
}

// appended is what Append was given. It is encoded outside of the writer.
type appended struct {
	key    session.Key
	agent  string
	msgs   []session.Message
	values [][]byte
}

// encode makes message i independent of the caller and writes its stored form. The sequence number is in the key.
func (a *appended) encode(i int, now func() time.Time) error {
	m := &a.msgs[i]
	m.Seq = 0
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for j := range m.ToolCalls {
		m.ToolCalls[j].Arguments = bytes.Clone(m.ToolCalls[j].Arguments)
	}
	if m.Usage != nil {
		u := *m.Usage
		m.Usage = &u
	}
	if m.Timestamp.IsZero() {
		m.Timestamp = session.At(now())
	} else {
		m.Timestamp = session.At(m.Timestamp.Time)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("storing a message: %w: %w", ErrInvalid, err)
	}
	a.values[i] = b
	return nil
}

func (c *change) append(a *appended) error {
	r, fresh, err := c.openRow(a.key, a.agent)
	if err != nil {
		return err
	}
	if err := c.adopt(r, a.agent); err != nil {
		return err
	}
	if fresh {
		// The chat is as old as its first message, not as the commit that happened to carry it.
		r.CreatedAt, r.UpdatedAt = a.msgs[0].Timestamp, a.msgs[0].Timestamp
	}
	for i, m := range a.msgs {
		r.Last++
		m.Seq = r.Last
		if err := c.put(bucketMessages, pair(r.Chat, m.Seq), a.values[i]); err != nil {
			return err
		}
		r.count(m)
		if m.Role == session.RoleAssistant && m.TaskID != "" {
			if err := c.dropDraft(m.TaskID); err != nil {
				return err
			}
		}
		c.emit(event.MessageAdded{Session: a.key, Message: m})
	}
	if a.agent != "" {
		r.Agent = a.agent
	}
	return c.saveRow(r, true)
}

// count brings the row up to date with one more message.
func (r *row) count(m session.Message) {
	r.Messages++
	if m.Usage != nil {
		r.Usage = r.Usage.Add(*m.Usage)
	}
	r.touch(m.Timestamp)
	if m.Role == session.RoleUser && !r.Named {
		if name := session.DisplayName(m.Content); name != "" {
			r.DisplayName, r.Named = name, true
		}
	}
}

// MessageQuery says which messages of a chat: the last Limit ones before the sequence number Before.
type MessageQuery struct {
	Limit  int    // at most; 0: DefaultMessages; never more than MaxMessages
	Before uint64 // 0: the end
}

// Messages returns a part of a chat's history, oldest first; ErrNotFound if there is no such chat.
func (s *Store) Messages(key session.Key, q MessageQuery) (msgs []session.Message, err error) {
	limit := bound(q.Limit, DefaultMessages, MaxMessages)
	err = s.view(func(tx *bolt.Tx) error {
		msgs = nil
		r, err := readRow(tx, key)
		if err != nil {
			return err
		}
		if r == nil {
			return noChat(key)
		}
		before := q.Before
		if before == 0 || before > r.Last {
			before = r.Last + 1
		}
		msgs, err = readMessages(tx, r.Chat, before, limit)
		return err
	})
	return msgs, err
}

// readMessages walks back from a sequence number and returns what it met, oldest first.
func readMessages(tx *bolt.Tx, chat, before uint64, limit int) ([]session.Message, error) {
	var msgs []session.Message
	cur := tx.Bucket(bucketMessages).Cursor()
	k, v := seekBefore(cur, pair(chat, before))
	for ; len(msgs) < limit && len(k) == 16 && binary.BigEndian.Uint64(k) == chat; k, v = cur.Prev() {
		var m session.Message
		if err := decode("a message", v, &m); err != nil {
			return nil, err
		}
		m.Seq = binary.BigEndian.Uint64(k[8:])
		msgs = append(msgs, m)
	}
	slices.Reverse(msgs)
	return msgs, nil
}

// bound applies a default and a maximum to a limit that a caller asked for.
func bound(limit, byDefault, most int) int {
	if limit <= 0 {
		return byDefault
	}
	return min(limit, most)
}
