package mcp

import "strconv"

// JSON-RPC 2.0 codes, and those that MCP adds.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeResourceNotFound   = -32002 // MCP 2025-11-25, server/resources, error handling
	codeUnsupportedVersion = -32022 // MCP 2026-07-28, versioning
)

// Limits of what is echoed back.
const (
	maxIDBytes    = 1024 // of a request id as written
	maxTokenBytes = 1024 // of a progress token as written
)

// rpcError is the error member of a response.
type rpcError struct {
	code    int
	message string
	data    []byte // JSON, or nil
}

// message is one JSON-RPC message. Its parts are slices of the body and are never changed.
type message struct {
	id       []byte // as written; nil when the member is absent
	method   []byte // nil for a response
	params   []byte // as written; nil when absent
	response bool   // a result or an error from the client
}

func (m *message) request() bool { return m.method != nil && m.id != nil }

// parseMessage takes apart one message that checkJSON has accepted. The message it returns beside an error carries the
// id when that one is usable, so that the refusal can echo it. Of duplicate members the first counts.
func parseMessage(raw []byte) (message, *rpcError) {
	var m message
	if kindOf(raw) != kindObject {
		return m, &rpcError{code: codeInvalidRequest, message: "a JSON-RPC message must be an object"}
	}
	var version, id, method []byte
	for it := membersOf(raw); it.next(); {
		switch string(it.key) {
		case "jsonrpc":
			first(&version, it.value)
		case "id":
			first(&id, it.value)
		case "method":
			first(&method, it.value)
		case "params":
			first(&m.params, it.value)
		case "result", "error":
			m.response = true
		}
	}
	if id != nil {
		switch k := kindOf(id); {
		case m.response && method == nil && k == kindNull:
			// An error that the client could not relate to a request has a null id (JSON-RPC 2.0, section 5).
		case k != kindString && k != kindNumber:
			return m, &rpcError{code: codeInvalidRequest, message: "id must be a string or a number, not " + k.String()}
		case len(id) > maxIDBytes:
			return m, &rpcError{code: codeInvalidRequest, message: "id is longer than " + strconv.Itoa(maxIDBytes) + " bytes"}
		default:
			m.id = id
		}
	}
	if unquote(version) != "2.0" {
		return m, &rpcError{code: codeInvalidRequest, message: `jsonrpc must be "2.0"`}
	}
	if method != nil {
		if kindOf(method) != kindString {
			return m, &rpcError{code: codeInvalidRequest, message: "method must be a string"}
		}
		m.method, m.response = rawText(method), false
		return m, nil
	}
	if !m.response {
		return m, &rpcError{code: codeInvalidRequest, message: "method is missing"}
	}
	return m, nil
}

func first(dst *[]byte, value []byte) {
	if *dst == nil {
		*dst = value
	}
}

// rawText returns the content of a JSON string, without a copy when nothing is escaped. It is never nil.
func rawText(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c == '\\' {
			return append([]byte{}, unquote(raw)...)
		}
	}
	return inner
}

// appendResponseHead begins a successful response; the result value and a closing brace follow.
func appendResponseHead(buf, id []byte) []byte {
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = append(buf, id...)
	return append(buf, `,"result":`...)
}

// appendError writes a whole error response. A nil id becomes null.
func appendError(buf, id []byte, e *rpcError) []byte {
	if id == nil {
		id = []byte("null")
	}
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	buf = append(buf, id...)
	buf = append(buf, `,"error":{"code":`...)
	buf = strconv.AppendInt(buf, int64(e.code), 10)
	buf = append(buf, `,"message":`...)
	buf = appendString(buf, e.message)
	if e.data != nil {
		buf = append(buf, `,"data":`...)
		buf = append(buf, e.data...)
	}
	return append(buf, "}}"...)
}
