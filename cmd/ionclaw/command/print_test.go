package command

import (
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app/session"
)

func TestTableIsAligned(t *testing.T) {
	w := newWorld(t)
	c := &cli{System: w.System}
	c.table([]string{"NAME", "X"}, [][]string{
		{"a", "1"},
		{"日本語", "2"},
		{"👩‍👩‍👧", "3"},
		{"line\nbreak\x1b[2J", "4"},
		{"end", ""},
	})
	want := strings.Join([]string{
		"NAME           X",
		"a              1",
		"日本語         2",
		"👩‍👩‍👧             3",
		"line break[2J  4",
		"end",
		"",
	}, "\n")
	if got := w.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, line, text string }{
		{"plain ü 日本 👩‍👩‍👧", "plain ü 日本 👩‍👩‍👧", "plain ü 日本 👩‍👩‍👧"},
		{"\x1b]0;title\x07", "]0;title", "]0;title"},
		{"\u009b31m\x7f", "31m", "31m"},
		{"a\r\n\tb", "a  b", "a\n\tb"},
		{"\u202etxt.exe\u2066", "txt.exe", "txt.exe"},
		{"a\u2028b", "a b", "a b"},
		{"\xff", "\ufffd", "\ufffd"},
	} {
		if got := cleanLine(tt.in); got != tt.line {
			t.Errorf("cleanLine(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := cleanText(tt.in); got != tt.text {
			t.Errorf("cleanText(%q) = %q, want %q", tt.in, got, tt.text)
		}
	}
}

func TestClockIsShortAndLocal(t *testing.T) {
	w := newWorld(t) // it is 2026-05-17 14:00 here, two hours ahead of UTC
	c := &cli{System: w.System}
	for _, tt := range []struct{ at, want string }{
		{"2026-05-17T09:05:00Z", "11:05"},
		{"2026-05-16T22:30:00Z", "00:30"},
		{"2026-05-16T21:30:00Z", "May 16 23:30"},
		{"2026-01-02T03:04:05Z", "Jan  2 05:04"},
		{"2025-12-31T21:00:00Z", "2025-12-31 23:00"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.clock(session.At(at)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.at, got, tt.want)
		}
	}
	if got := c.clock(session.Time{}); got != "" {
		t.Errorf("no time: got %q", got)
	}
}

func TestJSONHoldsNoControlCharacters(t *testing.T) {
	w := newWorld(t)
	c := &cli{System: w.System}
	c.encode(c.Out, map[string]string{"a": "\x1b\u009b\x7f<&>ü"})
	if got, want := w.out.String(), "{\n  \"a\": \"\\u001b\\u009b\\u007f<&>ü\"\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUptime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Second: "5 s", 90 * time.Second: "1 min", 3*time.Hour + 4*time.Minute: "3 h 4 min", 50 * time.Hour: "2 d 2 h",
	} {
		if got := uptimeWords(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
