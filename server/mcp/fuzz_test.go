package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCodec(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"id":-0.1e+5,"jsonrpc":"2.0","result":[]}`, `[1,{}]`, `"\u12aF\n"`,
		` {"a" : [ true,false , null ] } `, `01`, `-`, `1.`, `1e`, `{"a":1,}`, `[,]`, "\"\x00\"", "\"\xff\"", `{"":{"":""}}`, `nul`, `"\x"`, `{"jsonrpc":"2.0","id":"\ud800","method":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := checkJSON(raw)
		if want := json.Valid(raw) && utf8.Valid(raw); err != errDepth && (err == nil) != want {
			t.Fatalf("checkJSON(%q): got %v, want valid %t", raw, err, want)
		}
		if err != nil {
			return
		}
		if kindOf(raw) == kindArray {
			var want []json.RawMessage
			if err := json.Unmarshal(raw, &want); err != nil || len(elements(raw, 1<<30)) != len(want) {
				t.Fatalf("elements(%q): got %d, want %d (%v)", raw, len(elements(raw, 1<<30)), len(want), err)
			}
		}
		m, fault := parseMessage(raw)
		var answer []byte
		if fault != nil {
			answer = appendError(nil, m.id, fault)
		} else if m.id != nil {
			answer = append(appendResponseHead(nil, m.id), "{}}"...)
		}
		if answer != nil && !json.Valid(answer) {
			t.Fatalf("answer to %q is not JSON: %s", raw, answer)
		}
		if fault == nil && m.id != nil && !bytes.Contains(raw, m.id) {
			t.Fatalf("id %q is not in %q", m.id, raw)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("\u2028\x7f\"\\\xff\n<&>é😀")
	f.Fuzz(func(t *testing.T, s string) {
		raw := appendString(nil, s)
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Fatalf("appendString(%q): got %s, %v", s, raw, err)
		}
		if bytes.ContainsAny(raw, "\r\n") || !utf8.Valid(raw) {
			t.Fatalf("appendString(%q): got %q, want one line of UTF-8", s, raw)
		}
		if c := clip(s, 20); len(c) > 20 || !utf8.ValidString(c) {
			t.Fatalf("clip(%q): got %q", s, c)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"a1-5", "a-1-2", "-", "x-18446744073709551616", "text/event-stream;q=0.1, */*", ";q=;q", "a,b;c=d;,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if stream, n, ok := parseEventID(s); ok && (!strings.HasPrefix(s, stream+"-") || strings.TrimLeft(s[len(stream)+1:], "0") != strings.TrimLeft(strconv.FormatUint(n, 10), "0")) {
			t.Fatalf("parseEventID(%q): got %q %d", s, stream, n)
		}
		if wantsStream([]string{s}, false) && (!strings.Contains(strings.ToLower(s), "text/event-stream") || !wantsStream([]string{s}, true)) {
			t.Fatalf("wantsStream(%q): got true", s)
		}
		isJSON(s)
	})
}
