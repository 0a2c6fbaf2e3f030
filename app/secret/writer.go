package secret

import (
	"io"
	"sync"
)

// Writer passes on what is written to it without the keys its Redactor knows, also those that are spread over several
// writes. What might be the beginning of a key is held back until more text, Flush or Close decides; text ends with
// the last write, so a program calls one of the two. It is safe for concurrent use.
type Writer struct {
	redactor *Redactor
	to       io.Writer

	mu   sync.Mutex // held during writes: text must stay in order
	held []byte     // not passed on yet, after one byte of context
	lead int        // 1 if held begins with a byte that was passed on, for deciding where a word begins; else 0
}

var _ io.WriteCloser = (*Writer)(nil)

// Writer returns a writer that redacts what it passes on to w.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{redactor: r, to: w} }

// Write implements io.Writer. It counts what it holds back as written. After an error of the writer below, the text of
// that write is lost.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.redactor.known()
	if len(w.held) == w.lead && (t == nil || clean(t, p)) {
		// Nothing held, nothing found: no copy. The context byte only matters next to keys.
		n, err := w.to.Write(p)
		if n > 0 {
			w.held, w.lead = append(w.held[:0], p[n-1]), 1
		}
		return n, err
	}
	w.held = append(w.held, p...)
	if err := w.pass(t, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// clean says that p has no key and does not end like the beginning of one.
func clean(t *table, p []byte) bool {
	_, n := find(t, p, 0, false)
	return n == 0
}

// pass passes on what is decided.
func (w *Writer) pass(t *table, final bool) error {
	var out []byte
	done, i := w.lead, w.lead
	for t != nil {
		at, n := find(t, w.held, i, final)
		if n < 0 {
			out = append(out, w.held[done:at]...)
			done = at
			break
		}
		if n == 0 {
			out = append(out, w.held[done:]...)
			done = len(w.held)
			break
		}
		out = append(out, w.held[done:at]...)
		out = append(out, redacted...)
		done, i = at+n, at+n
	}
	if t == nil {
		out, done = append(out, w.held[done:]...), len(w.held)
	}
	if done > 0 {
		w.held, w.lead = append(w.held[:0], w.held[done-1:]...), 1
	}
	if len(out) == 0 {
		return nil
	}
	n, err := w.to.Write(out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}

// Flush passes on what is held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(w.redactor.known(), true)
}

// Close is Flush. It leaves the writer below open.
func (w *Writer) Close() error { return w.Flush() }
