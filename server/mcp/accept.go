package mcp

import (
	"strconv"
	"strings"
)

// wantsStream decides from the Accept header whether a call is answered as an event stream: when it lists
// text/event-stream, or a wildcard that covers it and the client gave a progress token. No header means JSON, and no
// header is ever refused.
func wantsStream(accept []string, token bool) bool {
	for _, line := range accept {
		for line != "" {
			var entry string
			entry, line, _ = strings.Cut(line, ",")
			media, params, _ := strings.Cut(entry, ";")
			media = strings.TrimSpace(media)
			stream := strings.EqualFold(media, "text/event-stream") ||
				token && (media == "*/*" || strings.EqualFold(media, "text/*"))
			if stream && !refused(params) {
				return true
			}
		}
	}
	return false
}

// refused reports a weight of zero (RFC 9110, 12.4.2).
func refused(params string) bool {
	for params != "" {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}

// isJSON reports whether a Content-Type header names JSON.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// parseEventID takes apart an id of the form <stream>-<n>.
func parseEventID(id string) (stream string, n uint64, ok bool) {
	stream, number, found := strings.Cut(id, "-")
	if !found || stream == "" || number == "" || number[0] == '+' {
		return "", 0, false
	}
	n, err := strconv.ParseUint(number, 10, 63)
	return stream, n, err == nil
}
