package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Clients that stop in the middle of sending or of reading do not hold up the end.
func TestShutdownLeavesStalledClients(t *testing.T) {
	stalled := make(chan struct{}, 2)
	s, l, served := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stalled <- struct{}{}
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		piece := strings.Repeat("x", 1<<20)
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf of",
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		<-stalled
	}
	if err := s.Shutdown(t.Context()); err != nil { // without a deadline: it would wait for ever
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
