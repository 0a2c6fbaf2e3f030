package guard

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHostAllowsOnlyThisMachine(t *testing.T) {
	trusted := []string{"ionclaw.example", "proxy.example:8443", "[fd00::1]:80", "not a host"}
	for _, tc := range []struct {
		host string
		want bool
	}{
		{"localhost", true}, {"LocalHost", true}, {"localhost.", true}, {"localhost:8080", true},
		{"localhost.:8080", true}, {"localhost:1", true}, {"localhost:65535", true}, {"LOCALHOST.:65535", true},
		{"127.0.0.1", true}, {"127.0.0.1:8080", true}, {"127.0.0.1.", true}, {"127.0.0.1.:80", true},
		{"[::1]", true}, {"[::1]:8080", true},

		{"", false}, {".", false}, {":", false}, {":8080", false}, {"[", false}, {"[]", false}, {"[]:80", false},
		{"localhost:0", false}, {"localhost:65536", false}, {"localhost:99999999999999999999", false},
		{"localhost:", false}, {"localhost:80a", false}, {"localhost:-1", false}, {"localhost:+80", false},
		{"localhost:80:80", false}, {"localhost..", false}, {".localhost", false}, {"localhost .", false},
		{" localhost", false}, {"localhost\t", false}, {"localhost\x00", false},
		{"::1", false}, {"::1:8080", false}, {"[::1", false}, {"[::1]x", false}, {"[::1]:", false}, {"[::1]:0", false},
		{"[::1].", false}, {"[::1%lo]", false}, {"[::1%25lo]", false}, {"[localhost]", false}, {"[127.0.0.1]", false},
		{"[::ffff:127.0.0.1]", false}, {"[::ffff:7f00:1]", false}, {"[::]", false}, {"0.0.0.0", false},
		{"127.0.0.2", false}, {"127.1", false}, {"2130706433", false}, {"0x7f000001", false}, {"0177.0.0.1", false},
		{"localhost.evil.com", false}, {"localhost.localdomain", false}, {"evil.localhost", false},
		{"127.0.0.1.nip.io", false}, {"evil.com", false}, {"evil.com:8080", false}, {"evil.com.", false},
		{"localhost@evil", false}, {"user@localhost", false}, {"http://localhost@evil", false}, {"http://localhost", false},
		{"localhost/", false}, {"localhost#evil.com", false}, {"localhost?evil", false}, {`localhost\.evil.com`, false},
		{"localhost,evil.com", false}, {"ｌocalhost", false}, {"loc\u212Alhost", false}, {"localho\u017Ft", false},
		{strings.Repeat("a", 300), false},

		{"ionclaw.example", true}, {"IONCLAW.example.", true}, {"ionclaw.example:9", true},
		{"proxy.example:8443", true}, {"proxy.example", false}, {"proxy.example:8444", false},
		{"[fd00::1]:80", true}, {"[FD00::1]:80", true}, {"[fd00::1]", false},
		{"x.ionclaw.example", false}, {"ionclaw.example.evil.com", false}, {"not a host", false},
	} {
		host, port, ok := parseHost(tc.host)
		got := ok && (isLoopbackName(host) || isTrusted(trusted, host, port))
		if got != tc.want {
			t.Errorf("Host %q: allowed %v, want %v (parsed as %q, %q, %v)", tc.host, got, tc.want, host, port, ok)
		}
	}
}

func TestHostLengthLimit(t *testing.T) {
	longest := strings.Repeat("a.", 126) + "a" // 253
	for host, want := range map[string]bool{
		longest: true, longest + ".:65535": true, longest + "aaaaaaa.": false,
	} {
		if _, _, ok := parseHost(host); ok != want {
			t.Errorf("host of %d bytes: ok %v, want %v", len(host), ok, want)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"localhost:80", "[::1]:8080", "127.0.0.1.", "localhost@evil", "[::1]]:1", "a..b", "[:]", ":::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, ok := parseHost(s)
		if !ok {
			return
		}
		if host == "" || strings.ContainsAny(host, "@/\\?#% \t\r\n[]") || host != strings.ToLower(host) {
			t.Fatalf("parseHost(%q) accepts the host %q", s, host)
		}
		if port != "" {
			if _, err := netip.ParseAddrPort("127.0.0.1:" + port); err != nil || strings.Trim(port, "0") == "" {
				t.Fatalf("parseHost(%q) accepts the port %q", s, port)
			}
		}
		// What was accepted is, apart from case and dot, what was sent.
		rebuilt := host
		if strings.Contains(host, ":") {
			rebuilt = "[" + host + "]"
		}
		rest, found := strings.CutPrefix(strings.ToLower(s), rebuilt)
		rest = strings.TrimPrefix(rest, ".")
		if !found || rest != "" && rest != ":"+port {
			t.Fatalf("parseHost(%q) = %q, %q: not the same name", s, host, port)
		}
	})
}
