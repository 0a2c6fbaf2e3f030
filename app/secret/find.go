package secret

// find looks for the first match in s from position i on and returns where it begins and how long it is; n is 0 if
// there is none. With final false more text may follow: where that could still make a match, or make it longer, find
// returns the position with n = -1.
func find[T string | []byte](t *table, s T, i int, final bool) (at, n int) {
	for ; i+1 < len(s); i++ {
		pair := uint16(s[i])<<8 | uint16(s[i+1])
		if t.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		best := 0
		for _, p := range t.patterns[pair] {
			n := matchAt(p, s, i, final)
			if n < 0 {
				return i, n
			}
			best = max(best, n)
		}
		if best > 0 {
			return i, best
		}
	}
	if !final && i < len(s) && t.single[s[i]] {
		return i, -1
	}
	return len(s), 0
}

// matchAt is like find for one pattern at one position; the first two bytes are known to be equal.
func matchAt[T string | []byte](p pattern, s T, i int, final bool) int {
	n := 2
	for n < len(p.text) && i+n < len(s) && s[i+n] == p.text[n] {
		n++
	}
	end := i + n
	if end == len(s) && !final && (n < len(p.text) || p.word || p.tail) {
		return -1
	}
	if n < p.anchor {
		return 0
	}
	if p.word && (i > 0 && isWord(s[i-1]) || end < len(s) && isWord(s[end])) {
		return 0
	}
	if p.tail && n == len(p.text) {
		if end < len(s) && isBase64(s[end]) {
			end++
		}
		for padding := 0; padding < 2 && end < len(s) && s[end] == '='; padding++ {
			end++
		}
		if end == len(s) && !final {
			return -1
		}
	}
	return end - i
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '-' || c == '_'
}
