package guard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestIsLocalOrigin(t *testing.T) {
	for _, tc := range []struct {
		origin string
		want   bool
	}{
		{"http://localhost", true}, {"https://localhost", true}, {"http://localhost:5173", true},
		{"HTTP://LOCALHOST:80", true}, {"http://127.0.0.1", true}, {"http://127.0.0.1:6274", true},
		{"http://[::1]", true}, {"https://[::1]:8443", true},

		{"", false}, {"null", false}, {"*", false}, {"localhost", false}, {"//localhost", false}, {"http:", false},
		{"http://", false}, {"http:/localhost", false}, {"http:localhost", false}, {"file://", false},
		{"file://localhost", false}, {"ws://localhost", false}, {"chrome-extension://localhost", false},
		{"vscode-webview://localhost", false}, {"httpx://localhost", false}, {" http://localhost", false},
		{"http://localhost ", false}, {"http://localhost@evil", false}, {"http://evil@localhost", false},
		{"http://evil:x@localhost", false}, {"http://localhost:x@evil", false}, {"http://@localhost", false},
		{"http://localhost.evil.com", false}, {"http://evil.localhost", false}, {"http://127.0.0.1.nip.io", false},
		{"http://localhost.", false}, {"http://localhost.:80", false}, {"http://127.0.0.1.", false},
		{"http://localhost/", false}, {"http://localhost/x", false}, {"http://localhost?x", false},
		{"http://localhost#x", false}, {`http://localhost\x`, false}, {"http://localhost:", false},
		{"http://localhost:0", false}, {"http://localhost:65536", false}, {"http://localhost:80:80", false},
		{"http://[::ffff:127.0.0.1]", false}, {"http://[::1%25lo]", false}, {"http://::1", false},
		{"http://[::1]evil.com", false}, {"http://127.0.0.2", false}, {"http://127.1", false},
		{"http://2130706433", false}, {"http://0.0.0.0", false}, {"http://localhost http://evil", false},
		{"http://localhost, http://evil", false}, {"http://localhost%2eevil.com", false}, {"http://evil.com", false},
		{"http://http://localhost", false}, {"http://loc\u212Alhost", false},
	} {
		if got := isLocalOrigin(tc.origin); got != tc.want {
			t.Errorf("Origin %q: local %v, want %v", tc.origin, got, tc.want)
		}
	}
}

// The oracle is the URL parser that the rest of the program uses.
func FuzzIsLocalOrigin(f *testing.F) {
	for _, s := range []string{"http://localhost", "https://[::1]:1", "http://localhost@evil", "null", "http://127.0.0.1.nip.io", "http://localhost:1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isLocalOrigin(s) {
			return
		}
		u, err := url.Parse(s)
		if err != nil {
			t.Fatalf("origin %q is taken as local, but: %v", s, err)
		}
		host := strings.ToLower(u.Hostname())
		if host != "localhost" && host != "127.0.0.1" && host != "::1" ||
			u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" ||
			u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("origin %q is taken as local, but parses as %#v", s, u)
		}
	})
}

func TestOriginAndPreflightAgree(t *testing.T) {
	open := &Policy{Anonymous: true}
	token := &Policy{Accept: []Digest{DigestOf("k")}}
	api := &Policy{Accept: []Digest{DigestOf("k")}, LocalOnly: true}
	for _, tc := range []struct {
		name    string
		policy  *Policy
		origins []string
		allowed bool
		reflect string
	}{
		{"no origin", open, nil, true, ""},
		{"local", open, []string{"http://localhost:5173"}, true, "http://localhost:5173"},
		{"foreign", open, []string{"https://evil.example"}, false, ""},
		{"null", open, []string{"null"}, false, ""},
		{"empty", open, []string{""}, false, ""},
		{"two", open, []string{"http://localhost", "http://localhost"}, false, ""},
		{"auth on, foreign", token, []string{"https://ide.example"}, true, "https://ide.example"},
		{"auth on, null", token, []string{"null"}, true, "null"},
		{"auth on, file", token, []string{"file://"}, true, "file://"},
		{"local api, foreign", api, []string{"https://ide.example"}, false, ""},
		{"local api, local", api, []string{"http://127.0.0.1:9"}, true, "http://127.0.0.1:9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, method := range []string{http.MethodOptions, http.MethodPost} {
				rec := serve(t, tc.policy, method, func(r *http.Request) {
					r.Header["Origin"] = tc.origins
					r.Header.Set("Authorization", "Bearer k")
				})
				want := map[bool]int{false: 403, true: 200}[tc.allowed]
				if tc.allowed && method == http.MethodOptions {
					want = 204
				}
				if rec.Code != want {
					t.Errorf("%s: got %d %s, want %d", method, rec.Code, rec.Body, want)
				}
				if got := rec.Header().Get("Access-Control-Allow-Origin"); got != tc.reflect {
					t.Errorf("%s: reflected origin %q, want %q", method, got, tc.reflect)
				}
				if tc.allowed && rec.Header().Get("Vary") != "Origin" {
					t.Errorf("%s: Vary %q, want Origin", method, rec.Header().Get("Vary"))
				}
			}
		})
	}
}

func TestPreflightHeaders(t *testing.T) {
	rec := serve(t, &Policy{Anonymous: true}, http.MethodOptions, func(r *http.Request) {
		r.Header.Set("Origin", "http://localhost:3000")
		r.Header.Set("Access-Control-Request-Private-Network", "true")
	})
	for header, want := range map[string]string{
		"Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, " +
			"Last-Event-ID, Mcp-Method, Mcp-Name",
		"Access-Control-Expose-Headers":        "Mcp-Session-Id, MCP-Protocol-Version",
		"Access-Control-Allow-Methods":         "GET, POST, DELETE, OPTIONS",
		"Access-Control-Allow-Private-Network": "true",
		"Access-Control-Max-Age":               "600",
		"Access-Control-Allow-Credentials":     "",
	} {
		if got := rec.Header().Get(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

// A browser client must be able to read the body of a 401.
func TestDenialsAfterOriginCarryCORS(t *testing.T) {
	rec := serve(t, &Policy{Accept: []Digest{DigestOf("k")}}, http.MethodPost, func(r *http.Request) {
		r.Header.Set("Origin", "https://ide.example")
	})
	if rec.Code != 401 || rec.Header().Get("Access-Control-Allow-Origin") != "https://ide.example" {
		t.Errorf("got %d with headers %v, want 401 with the origin reflected", rec.Code, rec.Header())
	}
}

// serve sends one request through the MCP guard to a handler that answers 200.
func serve(t *testing.T, p *Policy, method string, edit func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8080/mcp", nil)
	r.Header.Set("Content-Type", "application/json")
	if edit != nil {
		edit(r)
	}
	rec := httptest.NewRecorder()
	MCP(func() *Policy { return p })(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	})).ServeHTTP(rec, r)
	return rec
}

// What browsers add about a request's site neither opens nor shuts the door.
func TestFetchMetadataIsIgnored(t *testing.T) {
	for _, origin := range []string{"", "http://localhost:5173", "https://evil.example"} {
		for _, site := range []string{"", "cross-site", "same-origin", "none"} {
			rec := serve(t, &Policy{Anonymous: true}, http.MethodPost, func(r *http.Request) {
				if origin != "" {
					r.Header.Set("Origin", origin)
				}
				if site != "" {
					r.Header.Set("Sec-Fetch-Site", site)
					r.Header.Set("Sec-Fetch-Mode", "no-cors")
				}
			})
			want := 200
			if origin == "https://evil.example" {
				want = 403
			}
			if rec.Code != want {
				t.Errorf("origin %q, site %q: got %d, want %d", origin, site, rec.Code, want)
			}
		}
	}
}
