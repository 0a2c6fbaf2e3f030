package session

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const (
	// MaxName is the length of a display name in characters as people count them (grapheme clusters), dots included.
	MaxName = 50
	// maxNameBytes bounds the bytes of a name: one character can carry any number of combining marks.
	maxNameBytes = 1024

	ellipsis = "..."
)

// DisplayName makes the display name of a chat from its first user message: one line of at most MaxName characters,
// cut at a word boundary with "..." and never inside a character. White space and control characters become single
// spaces; characters that turn the direction of text around are dropped, so that a name cannot disguise itself.
// A message without visible text gives "". The name of a name is that name.
func DisplayName(firstUserMessage string) string {
	line := foldLine(firstUserMessage)
	var (
		count, full, hard int // characters; end of the last one that fits beside the dots and without them
		word, space       int // ends of the last whole word by Unicode's rules and by white space
		spaceCount        int
		state             = -1
		pos               int
		rest              = line
	)
	for rest != "" && count < MaxName {
		cluster, tail, boundaries, next := uniseg.StepString(rest, state)
		if pos+len(cluster) > maxNameBytes-len(ellipsis) {
			break
		}
		pos += len(cluster)
		rest, state = tail, next
		count++
		full = pos
		if count > MaxName-len(ellipsis) {
			continue
		}
		hard = pos
		if boundaries&uniseg.MaskWord != 0 {
			word = pos
		}
		if strings.HasPrefix(rest, " ") {
			space, spaceCount = pos, count
		}
	}
	if full == len(line) {
		return line
	}
	cut := hard
	switch {
	case spaceCount >= MaxName/2:
		cut = space
	case word > 0: // writing without spaces, or one very long word after short ones
		cut = word
	}
	return strings.TrimRight(line[:cut], " ") + ellipsis
}

// foldLine returns enough of the text for a name, on one line; "" if there is nothing to see in it.
func foldLine(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		switch {
		case b.Len() > 2*maxNameBytes:
			return b.String()
		case unicode.IsSpace(r) || unicode.IsControl(r):
			gap = b.Len() > 0
			continue
		case invisible(r) && (!joins(r) || gap || b.Len() == 0):
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r) // utf8.RuneError for what is not UTF-8
	}
	return b.String()
}

// brailleBlank looks like a space but is none by its Unicode class.
const brailleBlank = '\u2800'

func invisible(r rune) bool {
	return r != utf8.RuneError && (r == brailleBlank ||
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
}

// joins reports whether an invisible character shapes its neighbours: joiners, variation selectors, the tags that
// emoji flags are made of.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Variation_Selector, r) || r >= 0xE0020 && r <= 0xE007F
}
