package store

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold prepares text for a search that ignores case and accents: "Straße" and "STRASSE", "É" and "e" are the same.
func fold(s string) string {
	s = norm.NFKD.String(s)
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) || r == 0 {
			return -1
		}
		return r
	}, s)
	return norm.NFKC.String(cases.Fold().String(s))
}
