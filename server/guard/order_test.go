package guard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Each row breaks one rule more than the row before it, in reverse order, so
// the answer must always be that of the earliest check.
func TestOrderOfChecks(t *testing.T) {
	key := []Digest{DigestOf("k")}
	for _, tc := range []struct {
		name   string
		policy Policy
		edit   func(r *http.Request)
		want   int
		reason string
	}{
		{"length", Policy{Accept: key, MaxBody: 2}, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer k")
		}, 413, "body_too_large"},
		{"type", Policy{Accept: key, MaxBody: 2}, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer k")
			r.Header.Set("Content-Type", "text/plain")
		}, 415, "unsupported_media_type"},
		{"token", Policy{Accept: key, MaxBody: 2}, func(r *http.Request) {
			r.Header.Set("Content-Type", "text/plain")
		}, 401, "unauthorized"},
		{"method", Policy{Accept: key, MaxBody: 2}, func(r *http.Request) {
			r.Method = http.MethodPut
		}, 405, "method_not_allowed"},
		{"stopped", Policy{Accept: key, MaxBody: 2, Stopped: true}, func(r *http.Request) {
			r.Method = http.MethodPut
		}, 503, "channel_stopped"},
		{"preflight while stopped", Policy{Accept: key, Stopped: true}, func(r *http.Request) {
			r.Method = http.MethodOptions
		}, 204, ""},
		{"origin", Policy{Anonymous: true, Stopped: true}, func(r *http.Request) {
			r.Method = http.MethodPut
			r.Header.Set("Origin", "null")
		}, 403, "forbidden_origin"},
		{"host", Policy{Anonymous: true, Stopped: true}, func(r *http.Request) {
			r.Method = http.MethodOptions
			r.Header.Set("Origin", "null")
			r.Host = "evil.example"
		}, 403, "forbidden_host"},
		{"foreign host with auth on", Policy{Accept: key}, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("Authorization", "Bearer k")
		}, 200, ""},
		{"foreign host on the local api", Policy{Accept: key, LocalOnly: true}, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("Authorization", "Bearer k")
		}, 403, "server.trusted_hosts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader("long body"))
			r.Header.Set("Content-Type", "application/json")
			tc.edit(r)
			rec := httptest.NewRecorder()
			MCP(func() *Policy { return &tc.policy })(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
			if rec.Code != tc.want || !strings.Contains(rec.Body.String(), tc.reason) {
				t.Errorf("got %d %s, want %d with %q", rec.Code, rec.Body, tc.want, tc.reason)
			}
			if tc.want == 405 && rec.Header().Get("Allow") != "GET, POST, DELETE" {
				t.Errorf("Allow: got %q", rec.Header().Get("Allow"))
			}
			if tc.want == 503 && rec.Header().Get("Retry-After") != "5" {
				t.Errorf("Retry-After: got %q, want 5", rec.Header().Get("Retry-After"))
			}
		})
	}
}

// While the policy flips between "auth on" and "auth off", a request with a
// foreign Host and no token is refused by one or the other, always.
func TestPolicyIsOneSnapshotPerRequest(t *testing.T) {
	on, off := &Policy{Accept: []Digest{DigestOf("k")}}, &Policy{Anonymous: true}
	var n atomic.Int64
	flip := func() *Policy {
		if n.Add(1)%2 == 0 {
			return on
		}
		return off
	}
	h := MCP(flip)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				r := httptest.NewRequest(http.MethodPost, "http://evil.example/mcp", nil)
				r.Header.Set("Content-Type", "application/json")
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				if rec.Code != 403 && rec.Code != 401 {
					t.Errorf("got %d, want 403 or 401", rec.Code)
				}
			}
		})
	}
	wg.Wait()
	if got := n.Load(); got != 800 {
		t.Errorf("the policy was read %d times for 800 requests", got)
	}
}

func TestChecksInTheFormatOfTheAPI(t *testing.T) {
	p := &Policy{Accept: []Digest{DigestOf("run")}, LocalOnly: true, MaxBody: 4}
	for _, tc := range []struct {
		name, method, body, contentType, token string
		want                                   int
	}{
		{"read", "GET", "", "", "run", 200},
		{"post without body", "POST", "", "", "run", 200},
		{"post", "POST", "{}", "application/json; charset=utf-8", "run", 200},
		{"form", "POST", "a=b", "application/x-www-form-urlencoded", "run", 415},
		{"put without type", "PUT", "{}", "", "run", 415},
		{"big", "PUT", "[1,2]", "application/json", "run", 413},
		{"no token", "GET", "", "", "", 401},
	} {
		r := httptest.NewRequest(tc.method, "http://127.0.0.1/api/status", strings.NewReader(tc.body))
		if tc.contentType != "" {
			r.Header.Set("Content-Type", tc.contentType)
		}
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		rec := httptest.NewRecorder()
		New(func() *Policy { return p }, DenyAPI, Host(), Origin(), Bearer(), JSONBody(), MaxBody())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
		if rec.Code != tc.want {
			t.Errorf("%s: got %d %s, want %d", tc.name, rec.Code, rec.Body, tc.want)
		}
		if tc.want >= 400 && !strings.HasPrefix(rec.Body.String(), `{"error":{"code":"`) {
			t.Errorf("%s: not the API's error format: %s", tc.name, rec.Body)
		}
	}
}
