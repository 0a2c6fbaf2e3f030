package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var units = []struct {
	name  string
	bytes int64
}{
	{"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
	{"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3},
	{"b", 1},
}

var errSize = errors.New("not a size")

// parseSize reads "10MiB", "64 kB" or a number of bytes.
func parseSize(s string) (int64, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, factor = strings.TrimRight(rest, " "), u.bytes
			break
		}
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64/factor {
		return 0, errSize
	}
	return v * factor, nil
}

// formatSize is the shortest exact form that parseSize reads.
func formatSize(n int64) string {
	for _, u := range units[:3] {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + strings.ToUpper(u.name[:1]) + "iB"
		}
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration is Duration.String without zero minutes and seconds at the end.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
