package store

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"ionclaw-tray/app/session"
)

const (
	// searchBudget is how much one page of a search reads of messages, in bytes. Then the page ends, short of its
	// limit, and its cursor goes on from there: a search answers in moments however much is stored.
	searchBudget = 16 << 20
	// searchChat is what a chat costs of it beside its messages.
	searchChat = 1 << 10
)

// search looks for a text in chats, one after the other, until its budget is used up.
type search struct {
	tx     *bolt.Tx
	query  []byte // folded
	budget int
}

// finds reports whether a person or an agent wrote the text in this chat. What tools returned does
// not count: nobody remembers a chat by it.
func (s *search) finds(base, opener []byte) (bool, error) {
	var r struct { // of a row; the rest is not worth its decoding
		Chat uint64 `json:"chat"`
	}
	if err := decode("a chat", s.tx.Bucket(bucketSessions).Get(storedKey(base, opener)), &r); err != nil {
		return false, err
	}
	s.budget -= searchChat
	cur := s.tx.Bucket(bucketMessages).Cursor()
	for k, v := cur.Seek(number8(r.Chat)); len(k) == 16 && binary.BigEndian.Uint64(k) == r.Chat; k, v = cur.Next() {
		s.budget -= len(v)
		var m struct {
			Role    session.Role `json:"role"`
			Content string       `json:"content"`
		}
		if err := decode("a message", v, &m); err != nil {
			return false, err
		}
		if (m.Role == session.RoleUser || m.Role == session.RoleAssistant) && foldedContains(m.Content, s.query) {
			return true, nil
		}
	}
	return false, nil
}

// foldedContains is bytes.Contains(fold(text), query), faster for the text that is most frequent.
func foldedContains(text string, query []byte) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c == 0 {
			return bytes.Contains([]byte(fold(text)), query)
		}
	}
	return strings.Contains(strings.ToLower(text), string(query))
}
