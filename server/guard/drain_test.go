package guard

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that sends all of its request before it reads still learns why it was refused.
func TestRefusalReachesClientsThatSendFirst(t *testing.T) {
	const size = 32 << 20 // more than all socket buffers on the way
	policy := func() *Policy { return &Policy{Accept: []Digest{DigestOf("token")}, MaxBody: 1 << 20} }
	srv := httptest.NewServer(MCP(policy)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	})))
	defer srv.Close()
	for _, tc := range []struct {
		name, headers string
		chunked       bool
		want          int
	}{
		{"declared too long", "Authorization: Bearer token\r\nContent-Type: application/json\r\n", false, 413},
		{"turns out too long", "Authorization: Bearer token\r\nContent-Type: application/json\r\n", true, 413},
		{"no token", "Content-Type: application/json\r\n", false, 401},
		{"no token, chunked", "Content-Type: application/json\r\n", true, 401},
		{"wrong type", "Authorization: Bearer token\r\n", false, 415},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := strings.Repeat("x", size)
			length := fmt.Sprintf("Content-Length: %d\r\n\r\n", size)
			if tc.chunked {
				length = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size)
				body += "\r\n0\r\n\r\n"
			}
			if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"+tc.headers+length+body); err != nil {
				t.Fatalf("sending: %v", err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("reading the answer: %v", err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tc.want || !strings.Contains(string(text), `"message"`) {
				t.Errorf("got %d %s, %v; want %d and why", resp.StatusCode, text, err, tc.want)
			}
		})
	}
}

// A client that waits for permission to send is not waited for.
func TestRefusalOfAnnouncedBodyIsImmediate(t *testing.T) {
	srv := httptest.NewServer(MCP(func() *Policy { return &Policy{Anonymous: true, MaxBody: 10} })(http.NotFoundHandler()))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn) // until the server closes
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 413 ") {
		t.Errorf("got %q, %v; want one 413", all, err)
	}
}
