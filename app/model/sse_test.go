package model

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(r io.Reader) (got []string, err error) {
	e := newEventReader(r)
	for {
		ev, err := e.next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, ev.name+"|"+string(ev.data))
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"no space", "data:a\n\n", []string{"|a"}},
		{"one space only", "data:  a\n\n", []string{"| a"}},
		{"named", "event: x\ndata: a\n\n", []string{"x|a"}},
		{"name behind", "data: a\nevent: x\n\n", []string{"x|a"}},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"x|a", "|b"}},
		{"lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"empty data", "data:\n\n", []string{"|"}},
		{"comments", ": hello\n\n: again\ndata: a\n\n", []string{"|", "|", "|a"}},
		{"comment inside", "event: x\n: no\ndata: a\n\n", []string{"x|a"}},
		{"event without data", "event: x\n\ndata: a\n\n", []string{"|a"}},
		{"unknown fields", "id: 7\nretry: 100\nfoo\ndata: a\n\n", []string{"|a"}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"|a"}},
		{"cut before the empty line", "data: a\n\ndata: b\n", []string{"|a", "|b"}},
		{"cut inside the line", "data: a\n\ndata: b", []string{"|a", "|b"}},
		{"cut in a field name", "data: a\n\neve", []string{"|a"}},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			if got, err := readAll(r); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
			}
		}
	}
}

func TestEventLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		in   io.Reader
		want error
	}{
		{"at the limit", strings.NewReader("data: " + strings.Repeat("x", maxLine) + "\n\n"), nil},
		{"over it", strings.NewReader("data: " + strings.Repeat("x", maxLine+3) + "\n\n"), errLineTooLong},
		{"without an end", io.LimitReader(neverEnding('x'), 1<<40), errLineTooLong},
		{"over it in several lines", strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", maxLine/2)+"\n", 3) + "\n"), errLineTooLong},
	} {
		got, err := readAll(c.in)
		if !errors.Is(err, c.want) || (c.want == nil && (len(got) != 1 || len(got[0]) != maxLine+1)) {
			t.Errorf("%s: got %d events, %v; want %v", c.name, len(got), err, c.want)
		}
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestEventReaderReportsBrokenConnections(t *testing.T) {
	broken := errors.New("reset")
	for _, head := range []string{"", "data: a", "data: a\n"} {
		r := io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken))
		if got, err := readAll(r); !errors.Is(err, broken) || got != nil {
			t.Errorf("%q: got %q, %v; want the error and no event", head, got, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: x\ndata: a\n\n: c\n\ndata: b")
	f.Add("\r\n\r\ndata:\r\n\ufeffdata:x\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := readAll(strings.NewReader(in))
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if pieces, _ := readAll(iotest.OneByteReader(strings.NewReader(in))); !reflect.DeepEqual(whole, pieces) {
			t.Fatalf("%q: got %q at once, %q in pieces", in, whole, pieces)
		}
	})
}
