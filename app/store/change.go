package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/event"
	"ionclaw-tray/app/session"
)

// The buckets. Numbers in keys are 8 bytes, big endian, so that a cursor walks them in order.
var (
	bucketMeta = []byte("meta") // see the keys below

	bucketSessions = []byte("sessions")      // "agent:{agent}:{channel}:{uuid}" → row; its sequence numbers the chats
	bucketKeys     = []byte("session_keys")  // "{channel}:{uuid}" → key in sessions
	bucketOrder    = []byte("session_order") // number of the last change → orderEntry; its sequence counts changes
	bucketMessages = []byte("messages")      // chat number, message number → message

	bucketTasks     = []byte("tasks")         // task id → task; its sequence counts tasks
	bucketTaskOrder = []byte("task_order")    // number of the task → taskEntry
	bucketTaskNum   = []byte("task_numbers")  // task id → number of the task
	bucketTaskChat  = []byte("task_sessions") // "{channel}:{uuid}", number of the task → empty
	bucketTaskFinal = []byte("task_final")    // number of a task in a final state → task id

	bucketDrafts = []byte("drafts") // task id, 0, number of the commit → draft
	bucketMCP    = []byte("mcp")    // MCP session id → its record
)

// Keys of the meta bucket.
var (
	metaSchema = []byte("schema") // version, 8 bytes
	metaClean  = []byte("clean")  // present while no program writes and the last one ended by Close
	metaTasks  = []byte("tasks")  // number of tasks, 8 bytes
)

// change is one transaction of the writer.
type change struct {
	tx     *bolt.Tx
	store  *Store
	events []event.Event
	wrote  bool              // the present write has altered something
	drafts map[string]*draft // by task id, not yet in the bucket
}

func (c *change) get(bucket, key []byte) []byte { return c.tx.Bucket(bucket).Get(key) }

func (c *change) put(bucket, key, value []byte) error {
	c.wrote = true
	b := c.tx.Bucket(bucket)
	b.FillPercent = fill(bucket)
	return b.Put(key, value)
}

func (c *change) del(bucket, key []byte) error {
	c.wrote = true
	return c.tx.Bucket(bucket).Delete(key)
}

func (c *change) next(bucket []byte) (uint64, error) {
	c.wrote = true
	return c.tx.Bucket(bucket).NextSequence()
}

func (c *change) emit(e event.Event) { c.events = append(c.events, e) }

func (c *change) now() session.Time { return session.At(c.store.opt.now()) }

// deletePrefix removes all keys of a bucket that begin with prefix. Keys are collected first: a cursor does not
// survive deletions.
func (c *change) deletePrefix(bucket, prefix []byte) error {
	var keys [][]byte
	cur := c.tx.Bucket(bucket).Cursor()
	for k, _ := cur.Seek(prefix); k != nil && strings.HasPrefix(string(k), string(prefix)); k, _ = cur.Next() {
		keys = append(keys, append([]byte(nil), k...))
	}
	for _, k := range keys {
		if err := c.del(bucket, k); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the transaction before its commit.
func (c *change) finish() error {
	if err := c.saveDrafts(); err != nil {
		return err
	}
	if c.store.marked {
		return nil
	}
	return c.del(bucketMeta, metaClean)
}

// fill is how full pages are packed. Keys that only grow leave nothing to insert between them.
func fill(bucket []byte) float64 {
	switch string(bucket) {
	case string(bucketMessages), string(bucketOrder), string(bucketTaskOrder):
		return 0.9
	}
	return bolt.DefaultFillPercent
}

func number8(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func pair(a, b uint64) []byte { return binary.BigEndian.AppendUint64(number8(a), b) }

// decode reads a stored value; one that makes no sense is damage, not a bug of the caller.
func decode(what string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("reading %s: %w: %w", what, ErrDamaged, err)
	}
	return nil
}

func decodeNumber(what string, b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("reading %s: %w: %d bytes instead of 8", what, ErrDamaged, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
