package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/session"
)

const (
	// DefaultSessions is the length of a page of chats.
	DefaultSessions = 200
	// MaxSessions is the longest page of chats.
	MaxSessions = 1000
	// MaxQuery is the longest text to search for, in bytes.
	MaxQuery = 1024
)

// SessionQuery says which chats to list. The zero value lists the newest ones.
type SessionQuery struct {
	Limit   int    // at most; 0: DefaultSessions; never more than MaxSessions
	Cursor  string // SessionPage.Next of the page before; "": from the newest
	Channel string // "": all
	Query   string // part of the display name or of a message, in any case and with or without accents; "": all
}

// SessionPage is a part of the list of chats.
type SessionPage struct {
	Sessions []session.Info // last changed first
	// Next is the cursor of the following page; "": this was the last one. A page of a search may be shorter than its
	// limit, or empty, and yet have a next one.
	Next string
}

// Sessions lists chats, last changed first. ErrBadCursor: the cursor is not of a list with the same filters.
func (s *Store) Sessions(q SessionQuery) (page SessionPage, err error) {
	limit := bound(q.Limit, DefaultSessions, MaxSessions)
	if len(q.Query) > MaxQuery {
		return page, fmt.Errorf("searching chats: %w: the text to search for has more than %d bytes", ErrInvalid, MaxQuery)
	}
	query := []byte(fold(strings.TrimSpace(q.Query)))
	before, err := decodeCursor(q.Cursor, "sessions", q.Channel, string(query))
	if err != nil {
		return page, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		page = SessionPage{Sessions: []session.Info{}}
		var last uint64
		look := search{tx: tx, query: query, budget: s.opt.search}
		return walkBack(tx.Bucket(bucketOrder), nil, before, func(n uint64, v []byte) (bool, error) {
			base, opener, name, err := parseOrder(v)
			if err != nil {
				return false, err
			}
			if q.Channel != "" && !channelIs(base, q.Channel) {
				return true, nil
			}
			if !bytes.Contains(name, query) {
				if found, err := look.finds(base, opener); err != nil {
					return false, err
				} else if !found && look.budget <= 0 {
					page.Next = encodeCursor(n, "sessions", q.Channel, string(query))
					return false, nil
				} else if !found {
					return true, nil
				}
			}
			if len(page.Sessions) == limit {
				page.Next = encodeCursor(last, "sessions", q.Channel, string(query))
				return false, nil
			}
			r, err := readStored(tx, storedKey(base, opener))
			if err != nil {
				return false, err
			}
			page.Sessions, last = append(page.Sessions, r.Info), n
			return true, nil
		})
	})
	if err != nil {
		return SessionPage{}, fmt.Errorf("listing chats: %w", err)
	}
	return page, nil
}

// channelIs compares the channel of a base key "{channel}:{uuid}".
func channelIs(base []byte, channel string) bool {
	return len(base) > len(channel) && base[len(channel)] == ':' && string(base[:len(channel)]) == channel
}

// walkBack visits the keys prefix+number of a bucket from the largest number below before to the smallest, until fn
// returns false.
func walkBack(b *bolt.Bucket, prefix []byte, before uint64, fn func(n uint64, v []byte) (bool, error)) error {
	cur := b.Cursor()
	k, v := seekBefore(cur, append(bytes.Clone(prefix), number8(before)...))
	for ; len(k) == len(prefix)+8 && bytes.HasPrefix(k, prefix); k, v = cur.Prev() {
		more, err := fn(binary.BigEndian.Uint64(k[len(prefix):]), v)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// seekBefore moves to the last key that is smaller than the given one.
func seekBefore(cur *bolt.Cursor, key []byte) (k, v []byte) {
	if k, _ := cur.Seek(key); k == nil {
		return cur.Last()
	}
	return cur.Prev()
}
