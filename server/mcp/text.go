package mcp

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Unlike encoding/json it leaves <, > and & alone: bodies are never HTML.
// Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](buf []byte, s T) []byte {
	buf = append(buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := decodeRune(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				buf = append(append(buf, s[start:i]...), `\ufffd`...)
				start = i + 1
			case r == '\u2028' || r == '\u2029': // line ends to some parsers
				buf = append(append(buf, s[start:i]...), `\u202`...)
				buf = append(buf, hexDigits[r&0xf])
				start = i + size
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		buf = append(buf, s[start:i]...)
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, '\\', 'n')
		case '\r':
			buf = append(buf, '\\', 'r')
		case '\t':
			buf = append(buf, '\\', 't')
		default:
			buf = append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(buf, s[start:]...), '"')
}

func decodeRune[T string | []byte](s T) (rune, int) {
	if len(s) > utf8.UTFMax {
		s = s[:utf8.UTFMax]
	}
	return utf8.DecodeRuneInString(string(s))
}

// clip shortens s to at most n bytes without cutting a character, and drops control characters: what a client says
// about itself ends up in lists that people read.
func clip(s string, n int) string {
	out := make([]byte, 0, min(len(s), n))
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			continue
		}
		if len(out)+utf8.RuneLen(r) > n {
			break
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
