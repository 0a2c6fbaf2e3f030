package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

const (
	// maxMCPID bounds the id of an MCP session, in bytes.
	maxMCPID = 256
	// MaxMCPRecord bounds the record of an MCP session, in bytes.
	MaxMCPRecord = 1 << 20
)

// PutMCPSession stores the record of an MCP session, whose form is the caller's own. The data is copied.
func (s *Store) PutMCPSession(id string, data []byte) *Pending {
	if id == "" || len(id) > maxMCPID || len(data) > MaxMCPRecord {
		return failed(fmt.Errorf("storing an MCP session: %w: the id must have 1 to %d bytes, the record at most %d", ErrInvalid, maxMCPID, MaxMCPRecord))
	}
	data = bytes.Clone(data)
	return s.enqueue(s.life, len(data), func(c *change) error { return c.put(bucketMCP, []byte(id), data) })
}

// DeleteMCPSessions removes the records with these ids. Unknown ids are ignored.
func (s *Store) DeleteMCPSessions(ids ...string) *Pending {
	ids = append([]string(nil), ids...)
	return s.enqueue(s.life, len(ids)*maxMCPID/4, func(c *change) error {
		for _, id := range ids {
			if err := c.del(bucketMCP, []byte(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ClearMCPSessions removes all records.
func (s *Store) ClearMCPSessions() *Pending {
	return s.enqueue(s.life, 0, func(c *change) error {
		if k, _ := c.tx.Bucket(bucketMCP).Cursor().First(); k == nil {
			return nil
		}
		c.wrote = true
		if err := c.tx.DeleteBucket(bucketMCP); err != nil {
			return err
		}
		_, err := c.tx.CreateBucket(bucketMCP)
		return err
	})
}

// MCPSessions returns all records by id. The data is the caller's own.
func (s *Store) MCPSessions() (map[string][]byte, error) {
	all := make(map[string][]byte)
	err := s.view(func(tx *bolt.Tx) error {
		clear(all)
		return tx.Bucket(bucketMCP).ForEach(func(k, v []byte) error {
			all[string(k)] = append([]byte{}, v...)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading MCP sessions: %w", err)
	}
	return all, nil
}
