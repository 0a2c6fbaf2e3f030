package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestAcceptDecides(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_06_18)
	tests := []struct {
		accept string
		token  string
		stream bool
	}{
		{acceptBoth, "", true}, {"text/event-stream", "", true}, {"text/event-stream, application/json", "1", true},
		{"TEXT/Event-Stream;q=0.5", "", true}, {"text/event-stream;q=0, application/json", "1", false},
		{"application/json", "1", false}, {"-", "1", false}, {"*/*", "", false}, {"*/*", "1", true}, {"text/*", "1", true},
		{"text/html", "1", false}, {";;,,=", "1", false}, {"*/*;q=0.0", "1", false},
	}
	for _, tt := range tests {
		resp := f.do("POST", call("1", "nothing", "{}", tt.token), header{"Mcp-Session-Id": id, "Accept": tt.accept})
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		want := "application/json"
		if tt.stream {
			want = "text/event-stream"
		}
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != want || !strings.Contains(string(raw), `"content":[]`) {
			t.Errorf("Accept %q, token %q: got %d %s %s, want 200 %s", tt.accept, tt.token, resp.StatusCode, got, raw, want)
		}
	}
}

// progressOf decodes a progress notification.
func progressOf(t *testing.T, ev sseEvent) (token json.RawMessage, n float64, text string) {
	t.Helper()
	var m struct {
		Method string
		Params struct {
			ProgressToken json.RawMessage
			Progress      float64
			Message       string
		}
	}
	if err := json.Unmarshal([]byte(ev.data), &m); err != nil || m.Method != "notifications/progress" || ev.event != "message" {
		t.Fatalf("got %+v (%v), want a progress event", ev, err)
	}
	return m.Params.ProgressToken, m.Params.Progress, m.Params.Message
}

// The token comes back with type and digits untouched.
func TestProgressTokens(t *testing.T) {
	f := newFixture(t, nil)
	for _, version := range revisions {
		id := f.session(version)
		for _, token := range []string{`0`, `1`, `-7`, `1.50`, `1e400`, `123456789012345678901234567890`, `""`, `"abc"`, `"\u00e9\/"`,
			`"3f2504e0-4f89-41d3-9a0c-0305e82c3301"`, `true`, `false`, `[1, "a"]`, `{"a": {"b":1.0}}`} {
			f.chunks = make(chan string, 1)
			f.chunks <- "hi"
			close(f.chunks)
			resp := f.do("POST", call("9", "stream", "{}", token), header{"Mcp-Session-Id": id, "Accept": acceptBoth})
			for k, want := range map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"} {
				if got := resp.Header.Get(k); got != want {
					t.Errorf("%s: got %q, want %q", k, got, want)
				}
			}
			list := openEvents(t, resp).rest(t)
			<-f.started
			if version == Revision2025_11_25 {
				if ev := list[0]; ev.id == "" || ev.data != "" || ev.event != "" {
					t.Errorf("%s: first event: got %+v, want an id and no data", version, ev)
				}
				list = list[1:]
			}
			if len(list) != 2 {
				t.Fatalf("%s, token %s: got %d events %+v, want progress and response", version, token, len(list), list)
			}
			want := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"message":"hi"}}`
			if list[0].data != want {
				t.Errorf("got  %s\nwant %s", list[0].data, want)
			}
			if want := `{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"1 chunks"}]}}`; list[1].data != want {
				t.Errorf("got  %s\nwant %s", list[1].data, want)
			}
			if list[0].id == list[1].id || list[0].id == "" {
				t.Errorf("ids: got %q and %q, want different ones", list[0].id, list[1].id)
			}
		}
	}
}

func TestProgressWithoutToken(t *testing.T) {
	allowed := true
	f := newFixture(t, func(o *Options) { o.ProgressWithoutToken = func() bool { return allowed } })
	id := f.session(Revision2025_06_18)
	for _, token := range []string{"", "null"} {
		for _, allowed = range []bool{true, false} {
			f.chunks = make(chan string, 1)
			f.chunks <- "hi"
			close(f.chunks)
			list := openEvents(t, f.do("POST", call("9", "stream", "{}", token), header{"Mcp-Session-Id": id, "Accept": acceptBoth})).rest(t)
			<-f.started
			if !allowed {
				if len(list) != 1 {
					t.Errorf("not allowed: got %+v, want the response only", list)
				}
				continue
			}
			if got, _, _ := progressOf(t, list[0]); string(got) != `"task-1"` {
				t.Errorf("token: got %s, want the default", got)
			}
		}
	}
}

func TestManyChunks(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	ev := openEvents(t, f.do("POST", call("9", "stream", "{}", "5"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
	go func() {
		for i := range 1000 {
			f.chunks <- fmt.Sprintf("%d;", i)
		}
		close(f.chunks)
	}()
	list := ev.rest(t)[1:]
	text, last := "", 0.0
	for _, e := range list[:len(list)-1] {
		_, n, chunk := progressOf(t, e)
		if n <= last {
			t.Fatalf("progress: got %g after %g, want more", n, last)
		}
		last = n
		text += chunk
	}
	want := ""
	for i := range 1000 {
		want += fmt.Sprintf("%d;", i)
	}
	if text != want {
		t.Errorf("got %d bytes of text, want %d in order", len(text), len(want))
	}
	if final := list[len(list)-1].data; !strings.Contains(final, `"id":9,"result"`) {
		t.Errorf("last event: got %s, want the response", final)
	}
}

func TestCancel(t *testing.T) {
	f := newFixture(t, nil)
	for _, reqID := range []string{`7`, `"x"`, `0`} {
		for _, accept := range []string{"application/json", acceptBoth} {
			id := f.session(Revision2025_11_25)
			body := make(chan string, 1)
			go func() {
				_, got, _ := f.send("POST", call(reqID, "wait", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": accept})
				body <- got
			}()
			within(t, "start", f.started)
			begin := time.Now()
			f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+reqID+`,"reason":"enough"}}`, header{"Mcp-Session-Id": id})
			if cause := within(t, "end", f.ended); cause != ErrCancelled {
				t.Errorf("cause: got %v, want %v", cause, ErrCancelled)
			}
			got := within(t, "end of the request", body)
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("took %s, want at most 100 ms", took)
			}
			if accept == acceptBoth && strings.Contains(got, `"result"`) {
				t.Errorf("stream: got %s, want no response", got)
			}
			if accept != acceptBoth && !strings.Contains(got, `"isError":true`) {
				t.Errorf("JSON: got %s, want an isError result", got)
			}
		}
	}
}

// Whoever comes back for a cancelled request is waiting, so an answer is there.
func TestResumeCancelled(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	ev := openEvents(t, f.do("POST", call("1", "partial", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
	first := ev.want(t)
	c := within(t, "start", f.started)
	f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, header{"Mcp-Session-Id": id})
	if list := ev.rest(t); len(list) != 0 {
		t.Errorf("cancelled stream: got %+v, want its end", list)
	}
	<-c.done
	list := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": first.id})).rest(t)
	if len(list) != 1 || !strings.Contains(list[0].data, `"text":"so far"}],"isError":true`) {
		t.Errorf("resumed: got %+v, want the partial result as an error", list)
	}
}

// Two clients of different sessions use the same request ids.
func TestCancelIsPerSession(t *testing.T) {
	f := newFixture(t, nil)
	a, b := f.session(Revision2025_11_25), f.session(Revision2025_11_25)
	body := make(chan string, 1)
	go func() {
		_, got, _ := f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": a})
		body <- got
	}()
	within(t, "start", f.started)
	f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, header{"Mcp-Session-Id": b})
	f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`, header{"Mcp-Session-Id": a})
	close(f.release)
	if got := within(t, "answer", body); !strings.Contains(got, "released") {
		t.Errorf("got %s, want the result of a call that nobody cancelled", got)
	}
}

func TestClientLeaves(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	ev := openEvents(t, f.do("POST", call("1", "wait", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
	first := ev.want(t)
	c := within(t, "start", f.started)
	ev.body.Close()
	f.release <- struct{}{}
	<-c.done
	select {
	case cause := <-f.ended:
		t.Errorf("the call was ended with %v, want it to go on", cause)
	default:
	}
	list := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": first.id})).rest(t)
	if len(list) != 1 || !strings.Contains(list[0].data, "released") {
		t.Errorf("replay: got %+v, want the response", list)
	}
}

func TestResume(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	ev := openEvents(t, f.do("POST", call("1", "stream", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
	prime := ev.want(t)
	f.chunks <- "one"
	one := ev.want(t)
	// A second request takes the stream over while the call runs; the first one ends.
	back := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": prime.id}))
	if got := back.want(t); got != one {
		t.Errorf("replay: got %+v, want %+v", got, one)
	}
	if list := ev.rest(t); len(list) != 0 {
		t.Errorf("the replaced stream went on: %+v", list)
	}
	f.chunks <- "two"
	if _, n, text := progressOf(t, back.want(t)); n != 2 || text != "two" {
		t.Errorf("live after replay: got %g %q, want 2 two", n, text)
	}
	close(f.chunks)
	list := back.rest(t)
	if len(list) != 1 || !strings.Contains(list[0].data, "2 chunks") {
		t.Errorf("end: got %+v, want the response", list)
	}
	if list := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": one.id})).rest(t); len(list) != 2 {
		t.Errorf("replay after the end: got %+v, want two events", list)
	}
	if list := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": list[0].id})).rest(t); len(list) != 0 {
		t.Errorf("replay after the last: got %+v, want nothing", list)
	}
	other := f.session(Revision2025_11_25)
	name, _, _ := strings.Cut(one.id, "-")
	for _, bad := range []struct{ session, id string }{{other, one.id}, {id, name + "-99"}, {id, name}, {id, "-1"}, {id, "nope-1"},
		{id, name + "-"}, {id, name + "-x"}, {id, name + "--1"}, {id, name + "-99999999999999999999"}, {id, "--"}} {
		if status, got, _ := f.send("GET", "", header{"Mcp-Session-Id": bad.session, "Last-Event-ID": bad.id}); status != 400 || !strings.Contains(got, "-32600") {
			t.Errorf("Last-Event-ID %q: got %d %s, want 400", bad.id, status, got)
		}
	}
}

// A reader that does not read never holds the tool up, and loses progress rather than the result.
func TestSlowReader(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	resp := f.do("POST", call("1", "stream", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth})
	c := within(t, "start", f.started)
	chunk := strings.Repeat("x", maxJoined)
	for range 400 { // 25 MiB
		f.chunks <- chunk
	}
	if held := c.stream.bytes(); held > maxUnsent+maxKept+2*maxJoined {
		t.Errorf("held: got %d bytes, want at most %d", held, maxUnsent+maxKept+2*maxJoined)
	}
	close(f.chunks)
	<-c.done
	list := openEvents(t, resp).rest(t)
	if got := list[len(list)-1].data; !strings.Contains(got, "400 chunks") {
		t.Errorf("last event: got %.200s, want the response", got)
	}
	if len(list) > 300 {
		t.Errorf("got %d events, want some dropped", len(list))
	}
}

func TestRing(t *testing.T) {
	s := newStream("s")
	rd, ok := s.attach(0, &sseWriter{}, false)
	if !ok {
		t.Fatal("cannot attach")
	}
	var pos uint64
	for range maxKeptFrames + 10 {
		s.push([]byte("{}"), true)
		_, pos, _, _ = s.take(rd, pos, nil)
	}
	if len(s.frames) != maxKeptFrames || s.first != 11 || pos != maxKeptFrames+10 {
		t.Errorf("got %d frames from %d, position %d; want %d from 11", len(s.frames), s.first, pos, maxKeptFrames)
	}
	if s.keeps(9) || !s.keeps(10) || !s.keeps(pos) || s.keeps(pos+1) {
		t.Errorf("keeps: got %t %t %t %t, want only what follows 10 to %d", s.keeps(9), s.keeps(10), s.keeps(pos), s.keeps(pos+1), pos)
	}
	big := make([]byte, maxKept/2)
	for range 4 {
		s.push(big, true)
		_, pos, _, _ = s.take(rd, pos, nil)
	}
	if s.keptBytes > maxKept {
		t.Errorf("kept: got %d bytes, want at most %d", s.keptBytes, maxKept)
	}
	if !s.push(big, true) || s.push(append(big, big...), true) || !s.push(append(big, big...), false) {
		t.Error("unsent: want one half accepted, progress beyond the limit dropped, the result accepted")
	}
	s.end()
	if s.push([]byte("{}"), false) {
		t.Error("a frame was accepted after the end")
	}
}

func TestLineEndsInRawJSON(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_06_18)
	list := openEvents(t, f.do("POST", call("1", "echo", `{"message":"x"}`, "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth})).rest(t)
	if len(list) != 1 || !json.Valid([]byte(list[0].data)) || !strings.Contains(list[0].data, `"structuredContent":{  "a": 1  }`) {
		t.Errorf("got %+v, want one event with the object on one line", list)
	}
}

func TestListener(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_06_18)
	for _, uri := range []string{"test://one", "test://item/2"} {
		f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, header{"Mcp-Session-Id": id})
	}
	f.mcp.ResourceChanged("test://one") // nobody listens yet: kept
	first := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Accept": "text/event-stream"}))
	if ev := first.want(t); ev.data != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://one"}}` || ev.id != "" {
		t.Errorf("kept update: got %+v", ev)
	}
	if c := f.mcp.Clients(); !c[0].Streaming {
		t.Errorf("clients: got %+v, want one that streams", c)
	}
	second := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Accept": "text/event-stream"}))
	if list := first.rest(t); len(list) != 0 {
		t.Errorf("replaced stream: got %+v, want its end", list)
	}
	f.mcp.ToolsChanged()
	if ev := second.want(t); ev.data != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("got %+v, want tools/list_changed", ev)
	}
	f.mcp.ResourceChanged("test://other")
	f.mcp.ResourceChanged("test://item/2")
	if ev := second.want(t); !strings.Contains(ev.data, "test://item/2") {
		t.Errorf("got %+v, want the update of item 2", ev)
	}
	f.send("DELETE", "", header{"Mcp-Session-Id": id})
	if list := second.rest(t); len(list) != 0 {
		t.Errorf("after DELETE: got %+v, want the end", list)
	}
}

func TestZeroCall(t *testing.T) {
	c := &Call{}
	c.Progress("x")
	c.Status("x")
	c.Announce("x")
	c.Touch()
	c.Supervised()
	c.DefaultToken("x")
	c.CloseStream(time.Second)
}

// A cancellation may overtake the request's own goroutine on its way to the stream.
func TestKickBeforeAttach(t *testing.T) {
	s := newStream("s")
	s.push([]byte("{}"), false)
	s.kick()
	if _, ok := s.attach(0, &sseWriter{}, false); ok {
		t.Error("the first reader attached after the kick")
	}
	if _, ok := s.attach(0, &sseWriter{}, true); !ok {
		t.Error("a client that comes back could not attach")
	}
}
