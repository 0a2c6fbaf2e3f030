package session

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestDisplayName(t *testing.T) {
	family := "👨‍👩‍👧‍👦"
	zalgo := "e" + strings.Repeat("\u0301", 5000)
	tests := []struct{ name, in, want string }{
		{"short", "Hello", "Hello"},
		{"folded", " \t Fix\r\n\n the\x00bug\u2028now \v", "Fix the bug now"},
		{"empty", "", ""},
		{"only white space", " \n\t\u00a0\u3000", ""},
		{"only invisible", "\u200b\ufeff\u2060\u202e\u2800\ufe0f\u3164", ""},
		{"direction marks", "abc\u202egpj.exe", "abcgpj.exe"},
		{"exactly the limit", strings.Repeat("a", MaxName), strings.Repeat("a", MaxName)},
		{"one over, one word", strings.Repeat("a", MaxName+1), strings.Repeat("a", MaxName-3) + "..."},
		{"words", "Please explain how the garbage collector of Go works in detail", "Please explain how the garbage collector of Go..."},
		{"word ends where the room ends", "Please explain how the garbage collector of Gopher works", "Please explain how the garbage collector of..."},
		{"short word, then a long one", "a " + strings.Repeat("b", 80), "a..."},
		{"no spaces", strings.Repeat("漢", 60), strings.Repeat("漢", 47) + "..."},
		{"clusters count once", strings.Repeat(family, 30), strings.Repeat(family, 30)},
		{"the bound in bytes keeps clusters whole", strings.Repeat(family, 50), strings.Repeat(family, (maxNameBytes-3)/len(family)) + "..."},
		{"flags", strings.Repeat("🇩🇪", 51), strings.Repeat("🇩🇪", 47) + "..."},
		{"combining marks", strings.Repeat("e\u0301", 51), strings.Repeat("e\u0301", 47) + "..."},
		{"one endless character", zalgo, "..."},
		{"a word, then an endless character", "word " + zalgo, "word..."},
		{"leading blanks of any length", strings.Repeat("\n", 1<<20) + "late", "late"},
		{"leading invisible ones of any length", strings.Repeat("\u200d", 1<<16) + "late", "late"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"persian joiner", "می\u200cخواهم", "می\u200cخواهم"},
	}
	for _, tt := range tests {
		got := DisplayName(tt.in)
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzDisplayName(f *testing.F) {
	f.Add("Please explain how the garbage collector of Go works in detail")
	f.Add("👨‍👩‍👧‍👦\n\x00 漢字 e\u0301\u0301 \xff")
	f.Add(strings.Repeat("🇩🇪 a", 40))
	f.Fuzz(func(t *testing.T, s string) {
		got := DisplayName(s)
		if n := uniseg.GraphemeClusterCount(got); n > MaxName {
			t.Errorf("%q: got %d characters, want at most %d", s, n, MaxName)
		}
		if len(got) > maxNameBytes || !utf8.ValidString(got) {
			t.Errorf("%q: got %d bytes, valid UTF-8 %v", s, len(got), utf8.ValidString(got))
		}
		if i := strings.IndexFunc(got, unicode.IsControl); i >= 0 {
			t.Errorf("%q: got %q with a control character", s, got)
		}
		if strings.TrimSpace(got) != got {
			t.Errorf("%q: got %q with blanks around it", s, got)
		}
		if again := DisplayName(got); again != got {
			t.Errorf("%q: name of the name: got %q, want %q", s, again, got)
		}
	})
}
