package store

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
)

// CreateSession begins a chat without messages. It does nothing to a chat that exists.
func (s *Store) CreateSession(key session.Key, agent string) *Pending {
	if err := checkNames(key, agent); err != nil {
		return failed(err)
	}
	return s.enqueue(s.life, 0, func(c *change) error {
		r, fresh, err := c.openRow(key, agent)
		if err != nil || !fresh {
			return err
		}
		r.Agent = agent
		return c.saveRow(r, true)
	})
}

// RenameSession gives a chat another display name (see session.DisplayName), which later messages do not replace. Its
// place in the list and its time stay. An unknown chat is ErrNotFound, a name without visible text ErrInvalid. When
// ctx ends, the change may still happen.
func (s *Store) RenameSession(ctx context.Context, key session.Key, name string) error {
	name = session.DisplayName(name)
	if name == "" {
		return fmt.Errorf("renaming a chat: %w: the name has no visible text", ErrInvalid)
	}
	return s.enqueue(ctx, len(name), func(c *change) error {
		r, err := readRow(c.tx, key)
		if err != nil {
			return err
		}
		if r == nil {
			return noChat(key)
		}
		if r.Named && r.DisplayName == name {
			return nil
		}
		r.DisplayName, r.Named = name, true
		return c.saveRow(r, false)
	}).Wait(ctx)
}

// DeleteSession removes a chat and its messages and reports whether there was one. Its tasks stay. An Append that
// comes later begins the chat anew, without its past. When ctx ends, the chat may still be removed.
func (s *Store) DeleteSession(ctx context.Context, key session.Key) (bool, error) {
	found := false
	err := s.enqueue(ctx, 0, func(c *change) error {
		r, err := readRow(c.tx, key)
		if found = r != nil; err != nil || r == nil {
			return err
		}
		if err := c.deletePrefix(bucketMessages, number8(r.Chat)); err != nil {
			return err
		}
		if err := c.del(bucketOrder, number8(r.Order)); err != nil {
			return err
		}
		if err := c.del(bucketSessions, r.stored()); err != nil {
			return err
		}
		if err := c.del(bucketKeys, []byte(key.String())); err != nil {
			return err
		}
		c.emit(event.SessionDeleted{Session: key})
		return nil
	}).Wait(ctx)
	if err != nil {
		return false, err
	}
	return found, nil
}

// Session returns the row of a chat; ErrNotFound if there is none.
func (s *Store) Session(key session.Key) (session.Info, error) {
	r, err := s.row(key)
	if err != nil {
		return session.Info{}, err
	}
	return r.Info, nil
}

// StoredKey returns "agent:{agent}:{channel}:{uuid}" with the agent who opened the chat; ErrNotFound if there is none.
func (s *Store) StoredKey(key session.Key) (string, error) {
	r, err := s.row(key)
	if err != nil {
		return "", err
	}
	return string(r.stored()), nil
}

func (s *Store) row(key session.Key) (r *row, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if r, err = readRow(tx, key); err == nil && r == nil {
			err = noChat(key)
		}
		return err
	})
	return r, err
}

func noChat(key session.Key) error { return fmt.Errorf("chat %s: %w", key, ErrNotFound) }
