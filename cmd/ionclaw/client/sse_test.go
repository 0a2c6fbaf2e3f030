package client

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func readFrames(r io.Reader) (list []frame, err error) {
	events := newFrames(r)
	for {
		f, err := events.next()
		if err != nil {
			return list, err
		}
		list = append(list, f)
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name, in string
		want     []frame
	}{
		{"one event", "event: delta\ndata: {}\n\n", []frame{{"delta", []byte("{}")}}},
		{"no name", "data: 1\n\n", []frame{{"", []byte("1")}}},
		{"several data lines", "data: a\ndata: b\ndata:\n\n", []frame{{"", []byte("a\nb\n")}}},
		{"CR LF", "event: e\r\ndata: a\r\n\r\n", []frame{{"e", []byte("a")}}},
		{"comments and ids", ": keepalive\n\nid: 7\nevent: e\n: x\ndata: a\n\n", []frame{{"e", []byte("a")}}},
		{"name without data does not stick", "event: old\n\ndata: a\n\n", []frame{{"", []byte("a")}}},
		{"one space is taken off", "data:  a\n\n", []frame{{"", []byte(" a")}}},
		{"unfinished last event", "data: a\n\ndata: b\n", []frame{{"", []byte("a")}}},
		{"longer than the buffer", "data: " + long + "\n\n", []frame{{"", []byte(long)}}},
		{"nothing", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := readFrames(r)
				if !errors.Is(err, io.EOF) {
					t.Fatalf("error = %v, want EOF", err)
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got %q\nwant %q", got, tt.want)
				}
			}
		})
	}
}

// endless gives letters without a line break.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return copy(p, letters), nil
}

var letters = bytes.Repeat([]byte("x"), 64<<10)

func TestLineIsBounded(t *testing.T) {
	if _, err := newFrames(endless{}).next(); !errors.Is(err, errLongLine) {
		t.Errorf("error = %v, want %v", err, errLongLine)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add("event: delta\ndata: {}\n\n: c\n\r\ndata\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		list, err := readFrames(strings.NewReader(in))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("error = %v, want EOF", err)
		}
		for _, f := range list {
			if len(f.data) > len(in) || len(f.event) > len(in) {
				t.Fatalf("%q is more than there was: %q", f, in)
			}
		}
	})
}
