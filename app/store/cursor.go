package store

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// A cursor is the sequence number of the last row of a page, with a checksum over the number, the list and its
// filters. Rows that change move to the front of the list, never behind a cursor, so the rows that stay are neither
// repeated nor skipped.

// maxCursor bounds what is decoded, in bytes.
const maxCursor = 64

func encodeCursor(n uint64, list string, filters ...string) string {
	b := number8(n)
	b = binary.BigEndian.AppendUint32(b, cursorSum(b, list, filters))
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns the number; the largest one for the empty cursor, which begins a list.
func decodeCursor(s, list string, filters ...string) (uint64, error) {
	if s == "" {
		return ^uint64(0), nil
	}
	if len(s) > maxCursor {
		return 0, ErrBadCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 12 {
		return 0, ErrBadCursor
	}
	n := binary.BigEndian.Uint64(b)
	if encodeCursor(n, list, filters...) != s { // decoding alone would let line breaks pass
		return 0, ErrBadCursor
	}
	return n, nil
}

func cursorSum(n []byte, list string, filters []string) uint32 {
	return crc32.ChecksumIEEE([]byte(string(n) + list + "\x00" + strings.Join(filters, "\x00")))
}
