package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/task"
)

func changed(title string) event.Event { return event.ConfigRejected{Error: title} }

// rejected is the frame of changed.
func rejected(seq uint64, title string) frame {
	return frame{id: fmt.Sprint(seq), event: "config.rejected", data: `{"error":"` + title + `"}`}
}

func since(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
}

func TestEvents(t *testing.T) {
	core := newMute()
	w := serveCore(t, core)
	core.bus.Publish(changed("before"))
	resp := w.request(t.Context(), "GET", "/api/events", "", nil)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v, want a stream", resp.StatusCode, resp.Header)
	}
	f := readFrames(t, resp.Body)
	core.bus.Publish(changed("line\nbreak <&>"))
	core.bus.Publish(event.TurnDelta{Session: mustKey(t, chatA), TaskID: "t", Agent: "main", Text: "x"})
	core.bus.Publish(event.ConfigChanged{})
	f.want(rejected(2, `line\nbreak <&>`))
	f.want(frame{id: "3", event: "turn.delta", data: `{"session":"` + chatA + `","task_id":"t","agent":"main","text":"x"}`})
	f.want(frame{id: "4", event: "config.changed", data: "{}"})
}

func TestEventsOfTheCore(t *testing.T) {
	w := newWorld(t, testConfig)
	f := readFrames(t, w.request(t.Context(), "GET", "/api/events", "", nil).Body)
	w.ok("POST", "/api/sessions/"+chatA+"/messages", `{"message":"hi","agent":"main"}`, nil)
	seen := map[string]bool{}
	for !seen["task.changed"] || !seen["message.added"] || !seen["session.changed"] || !seen["turn.delta"] {
		got, ok := f.next()
		if !ok {
			t.Fatalf("the stream ended; got %v", seen)
		}
		seen[got.event] = true
	}
}

func TestEventsReplay(t *testing.T) {
	core := newMute()
	w := serveCore(t, core)
	for i := range 5 {
		core.bus.Publish(changed(fmt.Sprint("e", i+1)))
		core.bus.Publish(event.TurnDelta{}) // not kept
	}
	for _, tc := range []struct {
		from string
		want []frame
	}{
		{"0", []frame{rejected(1, "e1"), rejected(3, "e2")}},
		{"5", []frame{rejected(7, "e4"), rejected(9, "e5")}},
		{"9", []frame{rejected(11, "after 9")}}, // nothing was missed: only what is new
	} {
		ctx, leave := context.WithCancel(t.Context())
		f := readFrames(t, w.request(ctx, "GET", "/api/events", "", since(tc.from)).Body)
		if tc.from == "9" {
			core.bus.Publish(changed("after 9"))
		}
		for _, e := range tc.want {
			f.want(e)
		}
		leave()
	}
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		got := w.do("GET", "/api/events", "", since(bad))
		if e := got.problem(t); got.code != 400 || !strings.Contains(e.Message, "Last-Event-ID") {
			t.Errorf("id %q: got %d %v, want 400 that names the header", bad, got.code, e)
		}
	}
}

func TestEventsReset(t *testing.T) {
	core := newMute()
	w := serveCore(t, core)
	for i := range event.KeptEvents + 10 {
		core.bus.Publish(changed(fmt.Sprint("e", i+1)))
	}
	lost := readFrames(t, w.request(t.Context(), "GET", "/api/events", "", since("3")).Body)
	lost.want(frame{id: "10", event: "reset", data: "{}"})
	lost.want(rejected(11, "e11"))

	// A number that this run has not reached is of another run.
	foreign := readFrames(t, w.request(t.Context(), "GET", "/api/events", "", since("999999")).Body)
	foreign.want(frame{id: fmt.Sprint(event.KeptEvents + 10), event: "reset", data: "{}"})
	core.bus.Publish(changed("new"))
	foreign.want(rejected(event.KeptEvents+11, "new"))
}

// follow serves /api/events to a slow reader and returns when it is subscribed.
func follow(t *testing.T, a *api, take <-chan struct{}) (slow *slowWriter, leave func()) {
	t.Helper()
	slow = newSlowWriter(take)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/api/events", nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	served := make(chan struct{})
	go func() {
		a.ServeHTTP(slow, r)
		close(served)
	}()
	synctest.Wait()
	return slow, func() {
		synctest.Wait()
		cancel()
		<-served
	}
}

// What the bus drops for a slow reader is replayed to it: every event that is not lossy arrives, once and in order.
func TestSlowReaderMissesNothingThatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newMute()
		take := make(chan struct{})
		slow, leave := follow(t, newAPI(core, testToken, nil), take)
		const n = eventBuffer + 200
		for i := range n {
			core.bus.Publish(event.TurnDelta{})
			core.bus.Publish(event.TaskChanged{Task: task.Task{Title: fmt.Sprint(i)}})
		}
		close(take)
		leave()
		f := readFrames(t, strings.NewReader(slow.String()))
		tasks, last := 0, 0
		for {
			got, more := f.next()
			if !more {
				break
			}
			var id int
			if _, err := fmt.Sscan(got.id, &id); err != nil || id <= last {
				t.Fatalf("id %q after %d", got.id, last)
			}
			last = id
			switch got.event {
			case "task.changed":
				if want := fmt.Sprintf(`"title":"%d"`, tasks); !strings.Contains(got.data, want) {
					t.Fatalf("got %s, want %s", got.data, want)
				}
				tasks++
			case "turn.delta":
			default:
				t.Fatalf("got %+v", got)
			}
		}
		if tasks != n {
			t.Errorf("got %d tasks, want %d", tasks, n)
		}
	})
}

func TestSlowReaderIsToldWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newMute()
		take := make(chan struct{})
		slow, leave := follow(t, newAPI(core, testToken, nil), take)
		for i := range 2 * event.KeptEvents {
			core.bus.Publish(changed(fmt.Sprint(i + 1)))
		}
		close(take)
		leave()
		f := readFrames(t, strings.NewReader(slow.String()))
		f.want(rejected(1, "1"))
		f.want(frame{id: fmt.Sprint(event.KeptEvents), event: "reset", data: "{}"})
		for i := event.KeptEvents + 1; i <= 2*event.KeptEvents; i++ {
			f.want(rejected(uint64(i), fmt.Sprint(i)))
		}
	})
}

func TestSilentEventStreamShowsThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := make(chan struct{})
		close(take)
		slow, leave := follow(t, newAPI(newMute(), testToken, nil), take)
		time.Sleep(2*KeepAlive + time.Second)
		leave()
		if got, want := slow.String(), strings.Repeat(": keepalive\n\n", 2); got != want {
			t.Errorf("after %v: got %q, want %q", 2*KeepAlive, got, want)
		}
	})
}

// A stuck reader is let go when its request ends: the write that waits for it gets a deadline.
func TestStuckReaderIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := newMute()
		take := make(chan struct{})
		slow := newSlowWriter(take)
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/api/events", nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		go newAPI(core, testToken, nil).ServeHTTP(slow, r)
		synctest.Wait()
		core.bus.Publish(event.ConfigChanged{})
		<-slow.began
		cancel()
		synctest.Wait()
		slow.mu.Lock()
		got, want := slow.deadlines, time.Now().Add(streamGrace)
		slow.mu.Unlock()
		if len(got) != 2 || !got[0].IsZero() || !got[1].Equal(want) {
			t.Errorf("write deadlines: got %v, want none and then %v", got, want)
		}
		close(take)
	})
}

func TestEventStreamsAreLimited(t *testing.T) {
	w := serveCore(t, newMute())
	ctx, leave := context.WithCancel(t.Context())
	for range MaxEventStreams {
		if resp := w.request(ctx, "GET", "/api/events", "", nil); resp.StatusCode != 200 {
			t.Fatalf("got %d, want 200", resp.StatusCode)
		}
	}
	got := w.do("GET", "/api/events", "")
	<-w.ended
	if e := got.problem(t); got.code != 429 || e.Code != app.CodeBusy || !strings.Contains(e.Message, fmt.Sprint(MaxEventStreams)) {
		t.Errorf("one too many: got %d %s, want 429 with the limit", got.code, got.body)
	}
	leave()
	for range MaxEventStreams {
		<-w.ended
	}
	if resp := w.request(t.Context(), "GET", "/api/events", "", nil); resp.StatusCode != 200 {
		t.Errorf("after all have left: got %d, want 200", resp.StatusCode)
	}
}
