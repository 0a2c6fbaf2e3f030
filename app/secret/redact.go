package secret

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Limits of redaction, in bytes of a key.
const (
	MinRedacted = 4  // shorter keys are not searched for: nothing else would be left of a log
	wordBelow   = 8  // shorter keys count only as a whole word
	prefixFrom  = 16 // keys of this length and more are also recognised by their beginning …
	prefixBytes = 8  // … of this length
)

// redacted replaces what was found.
const redacted = "[redacted]"

// Redactor removes keys from text: the keys themselves, their base64 (also inside a longer encoded text), hex,
// URL-escaped, JSON-escaped and quoted forms, the decimal list that printing a byte slice gives, and beginnings of
// long keys with as much of the key as follows. It is safe for concurrent use; the zero value and nil know no keys.
type Redactor struct {
	mu    sync.Mutex // for Add
	table atomic.Pointer[table]
}

// NewRedactor makes a Redactor that knows no keys yet.
func NewRedactor() *Redactor { return &Redactor{} }

// Add makes a key known. Keys below MinRedacted bytes are ignored. A key stays known after it was replaced: old keys
// may still be valid somewhere.
func (r *Redactor) Add(key string) {
	if r == nil || len(key) < MinRedacted {
		return
	}
	if t := r.table.Load(); t != nil && t.keys[key] {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.table.Load(); old == nil || !old.keys[key] {
		r.table.Store(old.with(key))
	}
}

// Redact returns s without any known key. Where nothing matches it returns s itself and allocates nothing.
func (r *Redactor) Redact(s string) string {
	t := r.known()
	if t == nil {
		return s
	}
	var out strings.Builder
	done := 0
	for i := 0; ; {
		at, n := find(t, s, i, true)
		if n <= 0 {
			break
		}
		out.WriteString(s[done:at])
		out.WriteString(redacted)
		done, i = at+n, at+n
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

func (r *Redactor) known() *table {
	if r == nil {
		return nil
	}
	return r.table.Load()
}
