package guard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// DenialCode is the JSON-RPC error code of every denial.
//
// It lies outside the ranges that already mean something to an MCP client:
// JSON-RPC keeps -32768…-32000 for itself, of which MCP has given
// -32020…-32099 to its own specification and -32000…-32019 is where the SDKs
// put errors they make up locally (-32000 connection closed, -32001 request
// timed out). A refused token must not read as a time-out. The rest of the
// number space belongs to applications.
// Source: JSON-RPC 2.0 section 5.1; MCP 2026-07-28, error codes.
const DenialCode = -31000

// DenyRPC writes the denial as a JSON-RPC error with id null, which every MCP
// client can print: the sentence and the remedy are both in error.message.
func DenyRPC(w http.ResponseWriter, _ *http.Request, d *Denial) {
	WriteRPC(w, d, DenialCode)
}

// WriteRPC is [DenyRPC] with another JSON-RPC code.
func WriteRPC(w http.ResponseWriter, d *Denial, code int) {
	type data struct {
		Reason string `json:"reason"`
		Hint   string `json:"hint,omitempty"`
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}
	message := d.Message
	if d.Hint != "" {
		message += " " + d.Hint
	}
	writeJSON(w, d, struct {
		JSONRPC string   `json:"jsonrpc"`
		ID      *int     `json:"id"`
		Error   rpcError `json:"error"`
	}{"2.0", nil, rpcError{code, message, data{d.Code, d.Hint}}})
}

// DenyAPI writes the denial in the local API's error format,
// {"error":{"code","message","hint"}}.
func DenyAPI(w http.ResponseWriter, _ *http.Request, d *Denial) {
	type apiError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	writeJSON(w, d, struct {
		Error apiError `json:"error"`
	}{apiError{d.Code, d.Message, d.Hint}})
}

// writeJSON sends the denial's headers, status and body.
func writeJSON(w http.ResponseWriter, d *Denial, body any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // people read these in terminals
	if err := enc.Encode(body); err != nil {
		// Strings and numbers only: cannot fail.
		panic("encoding a denial: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(buf.Len()))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if d.Allow != "" {
		h.Set("Allow", d.Allow)
	}
	if d.Challenge != "" {
		h.Set("WWW-Authenticate", d.Challenge)
	}
	if d.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d.RetryAfter+time.Second-1)/time.Second)))
	}
	w.WriteHeader(d.Status)
	_, _ = w.Write(buf.Bytes()) // a client that has left needs no answer
}
