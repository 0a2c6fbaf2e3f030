package mcp

import (
	"encoding/base64"
	"strconv"
)

// pageSize is the number of entries in one page of a list.
const pageSize = 100

// pages is a list that was marshalled once: the finished result value of each page.
type pages [][]byte

// newPages cuts the marshalled entries into pages of the result member name.
func newPages(name string, entries [][]byte, size int) pages {
	var list pages
	for start := 0; start == 0 || start < len(entries); start += size {
		end := min(start+size, len(entries))
		page := append(append([]byte(`{"`), name...), `":[`...)
		for i, entry := range entries[start:end] {
			if i > 0 {
				page = append(page, ',')
			}
			page = append(page, entry...)
		}
		page = append(page, ']')
		if end < len(entries) {
			page = append(appendString(append(page, `,"nextCursor":`...), pageCursor(len(list)+1)), '}')
		} else {
			page = append(page, '}')
		}
		list = append(list, page)
	}
	return list
}

func pageCursor(page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte("p" + strconv.Itoa(page)))
}

// page answers a list request with these params.
func (p pages) page(params []byte) ([]byte, *rpcError) {
	raw := member(params, "cursor")
	if raw == nil || kindOf(raw) == kindNull {
		return p[0], nil
	}
	if kindOf(raw) == kindString {
		text, err := base64.RawURLEncoding.DecodeString(unquote(raw))
		if err == nil && len(text) > 1 && text[0] == 'p' {
			if n, err := strconv.Atoi(string(text[1:])); err == nil && n > 0 && n < len(p) {
				return p[n], nil
			}
		}
	}
	return nil, invalidParam("cursor", "is not one that this server gave; begin again without a cursor")
}

func invalidParam(name, reason string) *rpcError {
	return &rpcError{code: codeInvalidParams, message: (&ParamError{Param: name, Reason: reason}).Error()}
}
