package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ionclaw-tray/app"
)

// A body that does not come must not hold a connection for ever, and one that came must not shorten the answer.
func TestSlowBody(t *testing.T) {
	w, m := newTalkingWorld(t)
	w.api.bodyWait = 20 * time.Millisecond
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /api/sessions/new/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", testToken)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{resp.StatusCode, resp.Header, string(data)}
	if e := got.problem(t); got.code != 400 || e.Code != app.CodeBadRequest || !strings.Contains(e.Message, "within 20ms") || !resp.Close {
		t.Errorf("got %d %s, want 400 with the limit and the end of the connection", got.code, got.body)
	}
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestDeadlineOfTheBodyEndsWithIt(t *testing.T) {
	core := &waiting{mute: newMute()}
	w := serveCore(t, core)
	w.api.bodyWait = 50 * time.Millisecond
	core.wait = 4 * w.api.bodyWait
	if got := w.do("POST", "/api/channels/mcp/stop", `{}`); got.code != 200 {
		t.Errorf("an answer that takes longer than a body may: got %d %s, want 200", got.code, got.body)
	}
}

// waiting is a core that takes its time, unless the request ends.
type waiting struct {
	*mute
	wait time.Duration
}

func (c *waiting) StopMCP(ctx context.Context) error {
	select {
	case <-time.After(c.wait):
		return nil
	case <-ctx.Done():
		return errors.New("the request ended early")
	}
}
