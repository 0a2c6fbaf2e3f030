package channel

import (
	"net/http"
	"strings"
	"testing"

	"ionclaw-tray/app/model/modeltest"
)

// A start right after a stop finds no session again, although the store has not forgotten them yet.
func TestStopClearsSessionsForTheNextStart(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	if err := e.app.Store().PutMCPSession("filler", []byte("{}")).Wait(t.Context()); err != nil {
		t.Fatal(err) // all that was queued before is on disk
	}
	for range 2 {
		if err := e.app.StopMCP(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.start(t)
		if r := e.post(t, ping, "Mcp-Session-Id", id); r.status != http.StatusNotFound {
			t.Errorf("a session from before the stop: got %d %s, want 404", r.status, r.body)
		}
	}
}

// Whoever waits when the program ends is not told that the agent goes on.
func TestClosingSaysThatTheTurnEnds(t *testing.T) {
	e := open(t, t.TempDir(), scripted)
	e.models.Push(modeltest.Script{Hang: true})
	e.start(t)
	id := e.initialize(t)
	answer := make(chan reply, 1)
	go func() {
		answer <- e.post(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chat","arguments":{"message":"hi"}}}`, "Mcp-Session-Id", id)
	}()
	<-e.models.Started()
	e.channel.Close()
	if r := <-answer; !strings.Contains(r.body, "IonClaw was closed") || strings.Contains(r.body, "goes on") || !strings.Contains(r.body, `"isError":true`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
}
