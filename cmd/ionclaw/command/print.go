package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

	"ionclaw-tray/app/session"
)

// print shows a result: as JSON with --json, else with the given function.
func (c *cli) print(value any, human func()) {
	if c.json {
		c.encode(c.Out, value)
		return
	}
	human()
}

// encode writes one indented JSON value. Characters that steer a terminal are escaped: JSON's own rules leave DEL and
// the C1 controls as they are.
func (c *cli) encode(w io.Writer, value any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		panic(fmt.Sprintf("encoding %T: %v", value, err)) // plain data of our own types
	}
	var out strings.Builder
	for _, r := range buf.String() {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	_, _ = io.WriteString(w, out.String()) // a closed pipe has nobody to tell
}

func (c *cli) printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }

// note tells a person something beside the result.
func (c *cli) note(format string, args ...any) {
	if !c.json {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

// table prints rows under a header, columns aligned by their width on screen. Cells are made safe to show.
func (c *cli) table(header []string, rows [][]string) {
	width := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for i, row := range all {
		clean := make([]string, len(row))
		for j, cell := range row {
			clean[j] = cleanLine(cell)
			width[j] = max(width[j], uniseg.StringWidth(clean[j]))
		}
		all[i] = clean
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for j, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", width[j]-uniseg.StringWidth(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, _ = io.WriteString(c.Out, b.String())
}

// fields prints names and values, one pair a line; pairs without a value are left out.
func (c *cli) fields(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, uniseg.StringWidth(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			c.printf("%s%s  %s\n", pairs[i], strings.Repeat(" ", width-uniseg.StringWidth(pairs[i])), cleanLine(pairs[i+1]))
		}
	}
}

// clock is a time in its short local form.
func (c *cli) clock(t session.Time) string {
	if t.IsZero() {
		return ""
	}
	now, local := c.Now().In(c.Zone), t.In(c.Zone)
	switch {
	case local.Format(time.DateOnly) == now.Format(time.DateOnly):
		return local.Format("15:04")
	case local.Year() == now.Year():
		return local.Format("Jan _2 15:04")
	default:
		return local.Format("2006-01-02 15:04")
	}
}

// cleanLine makes a name safe to show in one line: no terminal sequences, no line breaks, nothing that reorders text.
func cleanLine(s string) string { return clean(s, "") }

// cleanText does so for a text of several lines.
func cleanText(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(keep, r):
			return r
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}
