package mcp

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// Everything at once: calls in both modes, cancellations, clients that leave and come back, sessions that end.
func TestEverythingAtOnce(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.MaxSessions = 6 })
	go func() {
		for range f.started {
		}
	}()
	go func() {
		for range f.ended {
		}
	}()
	defer close(f.started)
	defer close(f.ended)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 12 {
				_, _, answer := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil)
				id := answer.Get("Mcp-Session-Id")
				if id == "" {
					continue // every session is busy
				}
				h := header{"Mcp-Session-Id": id, "Accept": acceptBoth}
				var calls sync.WaitGroup
				for n := range 3 {
					calls.Go(func() {
						hh := header{"Mcp-Session-Id": id, "Accept": []string{acceptBoth, "application/json"}[n%2]}
						f.send("POST", call(fmt.Sprint(n), "partial", "{}", "1"), hh)
					})
				}
				f.mcp.ToolsChanged()
				f.mcp.Clients()
				resp := f.do("GET", "", h)
				if round%2 == 0 {
					resp.Body.Close()
				}
				f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`, h)
				switch (worker + round) % 3 {
				case 0:
					f.send("DELETE", "", h)
				case 1:
					f.mcp.EndAll(nil)
				default:
					f.mcp.EndCredential("")
				}
				// A call that came too late for the end found no session; all others were answered.
				calls.Wait()
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("somebody still waits")
	}
	f.mcp.EndAll(nil)
	if got := f.store.ids(); len(got) != 0 {
		t.Errorf("stored sessions after the end of all: got %v, want none", got)
	}
}
