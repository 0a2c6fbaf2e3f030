package mcp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSilentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_06_18)
		ev := openEvents(t, f.do("POST", call("1", "wait", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
		c := <-f.started
		begin := time.Now()
		c.Status("step 3, tool search")
		last, comments, beats := begin, 0, 0
		go func() {
			time.Sleep(250 * time.Second)
			f.release <- struct{}{}
		}()
		n := 0.0
		for {
			e := ev.want(t)
			if strings.Contains(e.data, `"result"`) {
				break
			}
			if e.comment != "" {
				comments++
				continue
			}
			_, progress, text := progressOf(t, e)
			if gap := time.Since(last); gap > 20*time.Second || progress <= n || text != "still working: step 3, tool search" {
				t.Errorf("heartbeat: got %g %q after %s", progress, text, gap)
			}
			n, last = progress, time.Now()
			beats++
		}
		if time.Since(begin) != 250*time.Second || comments != 16 || beats != 16 {
			t.Errorf("got %d comments and %d heartbeats in %s, want 16 and 16 in 250s", comments, beats, time.Since(begin))
		}
	})
}

// Without a token of the client there is no heartbeat, only comments; an event in between moves the next heartbeat.
func TestHeartbeatNeedsClientToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_06_18)
		ev := openEvents(t, f.do("POST", call("1", "stream", "{}", ""), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
		<-f.started
		for range 3 {
			if e := ev.want(t); e.comment != "keepalive" {
				t.Errorf("got %+v, want a comment", e)
			}
		}
		close(f.chunks)
		ev.rest(t)

		f.chunks = make(chan string)
		ev = openEvents(t, f.do("POST", call("1", "stream", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
		<-f.started
		begin := time.Now()
		time.Sleep(10 * time.Second)
		f.chunks <- "text"
		ev.want(t)
		if e := ev.want(t); e.comment == "" || time.Since(begin) != 15*time.Second {
			t.Errorf("got %+v after %s, want a comment after 15s", e, time.Since(begin))
		}
		if e := ev.want(t); !strings.Contains(e.data, "still working") || time.Since(begin) != 25*time.Second {
			t.Errorf("got %+v after %s, want a heartbeat after 25s", e, time.Since(begin))
		}
		close(f.chunks)
		ev.rest(t)
	})
}

func TestChunksAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_06_18)
		ev := openEvents(t, f.do("POST", call("1", "stream", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth}))
		<-f.started
		begin := time.Now()
		f.chunks <- "a"
		if _, _, text := progressOf(t, ev.want(t)); text != "a" || time.Since(begin) != 0 {
			t.Errorf("first: got %q after %s, want a at once", text, time.Since(begin))
		}
		time.Sleep(10 * time.Millisecond)
		f.chunks <- "b"
		time.Sleep(10 * time.Millisecond)
		f.chunks <- "c"
		if _, _, text := progressOf(t, ev.want(t)); text != "bc" || time.Since(begin) != DefaultCoalesceDelay {
			t.Errorf("joined: got %q after %s, want bc after 50ms", text, time.Since(begin))
		}
		time.Sleep(time.Second)
		f.chunks <- "d"
		if _, _, text := progressOf(t, ev.want(t)); text != "d" || time.Since(begin) != DefaultCoalesceDelay+time.Second {
			t.Errorf("after a pause: got %q after %s, want d at once", text, time.Since(begin))
		}
		f.chunks <- "e"
		close(f.chunks)
		list := ev.rest(t)
		if _, _, text := progressOf(t, list[0]); text != "e" || len(list) != 2 {
			t.Errorf("end: got %+v, want e and the response", list)
		}
	})
}

func TestIdleCall(t *testing.T) {
	for _, accept := range []string{"application/json", acceptBoth} {
		synctest.Test(t, func(t *testing.T) {
			f := newPipeFixture(t, nil)
			id := f.session(Revision2025_06_18)
			begin := time.Now()
			go func() {
				c := <-f.started
				for range 3 { // activity: the limit counts from the last
					time.Sleep(200 * time.Second)
					c.Touch()
				}
			}()
			_, got, _ := f.send("POST", call("1", "wait", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": accept})
			if took := time.Since(begin); took < 900*time.Second || took > 901*time.Second {
				t.Errorf("took %s, want 900s", took)
			}
			if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "No activity for 5m0s") {
				t.Errorf("got %s, want an isError result that says so", got)
			}
			if cause := <-f.ended; cause != ErrIdle {
				t.Errorf("cause: got %v, want %v", cause, ErrIdle)
			}
		})
	}
}

func TestSupervisedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_06_18)
		go func() {
			c := <-f.started
			c.Supervised()
			time.Sleep(time.Hour)
			close(f.release)
		}()
		_, got, _ := f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": id})
		if !strings.Contains(got, "released") {
			t.Errorf("got %s, want the result after an hour", got)
		}
	})
}

// A tool that ignores its context cannot keep the request open.
func TestDeafTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_06_18)
		begin := time.Now()
		go func() {
			<-f.started
			f.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, header{"Mcp-Session-Id": id})
		}()
		_, got, _ := f.send("POST", call("1", "deaf", "{}", ""), header{"Mcp-Session-Id": id})
		if took := time.Since(begin); took > 100*time.Millisecond || !strings.Contains(got, "cancelled") {
			t.Errorf("got %s after %s, want a result within 100ms", got, took)
		}
		close(f.release)
	})
}

func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		idle, used, listening, calling := f.session(Revision2025_11_25), f.session(Revision2025_11_25), f.session(Revision2025_11_25), f.session(Revision2025_11_25)
		ping := func(id string) int {
			status, _, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id})
			return status
		}
		get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": listening}))
		go func() {
			for {
				if _, err := get.next(); err != nil {
					return
				}
			}
		}()
		go f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": calling})
		(<-f.started).Supervised()
		time.Sleep(2 * time.Hour)
		if got := ping(used); got != 200 {
			t.Errorf("after two hours: got %d, want 200", got)
		}
		time.Sleep(22*time.Hour + 2*time.Second)
		for id, want := range map[string]int{idle: 404, used: 200, listening: 200, calling: 200} {
			if got := ping(id); got != want {
				t.Errorf("after a day: got %d, want %d", got, want)
			}
		}
		if n := len(f.store.ids()); n != 3 {
			t.Errorf("stored: got %d, want 3", n)
		}
		f.release <- struct{}{}
		get.body.Close()
		time.Sleep(24*time.Hour + 2*time.Second)
		if c := f.mcp.Clients(); len(c) != 0 {
			t.Errorf("after another day: got %+v, want none", c)
		}
		if f.mcp.table.sweep != nil {
			t.Error("the sweep goes on without sessions")
		}
	})
}

func TestLastUseIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_11_25)
		for range 120 {
			time.Sleep(time.Second)
			f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id})
		}
		if f.store.puts != 3 {
			t.Errorf("writes in two minutes: got %d, want 3", f.store.puts)
		}
		if age := time.Since(f.store.records[id].LastUsed); age > time.Minute {
			t.Errorf("stored last use: got %s ago, want at most a minute", age)
		}
	})
}

func TestStaleRecordsAreNotLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		now := time.Now()
		for id, age := range map[string]time.Duration{"fresh": time.Hour, "older": 2 * time.Hour, "oldest": 3 * time.Hour, "expired": 25 * time.Hour} {
			store.Put(SessionRecord{ID: id, Version: Revision2025_11_25, LastUsed: now.Add(-age)})
		}
		store.Put(SessionRecord{ID: "future", Version: "2030-01-01", LastUsed: now})
		s := New(Options{Sessions: store, MaxSessions: 2})
		defer s.Close(nil)
		if got := strings.Join(store.ids(), " "); got != "fresh older" || len(s.Clients()) != 2 {
			t.Errorf("got %s, want fresh older", got)
		}
		time.Sleep(22*time.Hour + 2*time.Second)
		if got := strings.Join(store.ids(), " "); got != "fresh" {
			t.Errorf("22 hours later: got %s, want fresh", got)
		}
	})
}

func TestReplayExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_11_25)
		list := openEvents(t, f.do("POST", call("1", "nothing", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth})).rest(t)
		time.Sleep(replayTime - time.Second)
		if status, got, _ := f.send("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": list[0].id}); status != 200 || !strings.Contains(got, `"content":[]`) {
			t.Errorf("before: got %d %s, want the response", status, got)
		}
		time.Sleep(2 * time.Second)
		if status, _, _ := f.send("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": list[0].id}); status != 400 {
			t.Errorf("after: got %d, want 400", status)
		}
		if f.mcp.table.get(id).streams != nil || f.mcp.replays.queue != nil || f.mcp.replays.bytes != 0 {
			t.Errorf("something is left: %+v", f.mcp.replays.queue)
		}
	})
}

func TestListenerClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_11_25)
		f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`, header{"Mcp-Session-Id": id})
		get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
		begin := time.Now()
		for i := range 40 { // ten minutes of nothing
			if e := get.want(t); e.comment != "keepalive" || time.Since(begin) != time.Duration(i+1)*15*time.Second {
				t.Errorf("got %+v after %s, want a comment each 15s", e, time.Since(begin))
			}
		}
		begin = time.Now()
		for range 10 {
			f.mcp.ResourceChanged("test://one")
		}
		get.want(t)
		if time.Since(begin) != 0 {
			t.Errorf("first update after %s, want at once", time.Since(begin))
		}
		time.Sleep(100 * time.Millisecond)
		f.mcp.ResourceChanged("test://one")
		f.mcp.ResourceChanged("test://one")
		get.want(t)
		if time.Since(begin) != time.Second {
			t.Errorf("second update after %s, want 1s", time.Since(begin))
		}
		if e := get.want(t); e.comment == "" {
			t.Errorf("got %+v, want no third update", e)
		}
	})
}

// A stream that its tool closes is continued by a GET, after the time that retry names.
func TestCloseStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, func(o *Options) {
			o.Tools = NewToolSet(&Tool{Name: "poll", Handle: func(_ context.Context, c *Call) (*Result, error) {
				c.CloseStream(500 * time.Millisecond)
				time.Sleep(time.Second)
				return TextResult("done"), nil
			}})
		})
		for _, version := range []string{Revision2025_11_25, Revision2025_06_18} {
			id := f.session(version)
			list := openEvents(t, f.do("POST", call("1", "poll", "{}", "1"), header{"Mcp-Session-Id": id, "Accept": acceptBoth})).rest(t)
			if version == Revision2025_06_18 {
				if len(list) != 1 || !strings.Contains(list[0].data, "done") {
					t.Errorf("%s: got %+v, want the response on the stream", version, list)
				}
				continue
			}
			if len(list) != 2 || list[1].retry != "500" || list[1].data != "" {
				t.Fatalf("%s: got %+v, want a priming event and one with retry", version, list)
			}
			list = openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id, "Last-Event-ID": list[1].id})).rest(t)
			if len(list) != 1 || !strings.Contains(list[0].data, "done") {
				t.Errorf("%s: continued: got %+v, want the response", version, list)
			}
		}
	})
}

// The deadline that unblocks a stream at its end must not hit the next request on that connection.
func TestConnectionAfterStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_11_25)
		first := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
		openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
		first.rest(t)
		time.Sleep(stallLimit + time.Second)
		for range 3 { // more requests than idle connections
			if status, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header{"Mcp-Session-Id": id}); status != 200 {
				t.Errorf("got %d %s, want 200", status, got)
			}
		}
	})
}

// Limits that become smaller hold for the sessions that exist, the one idle for longest going first.
func TestLimitsChangeWhileServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		calling := f.session(Revision2025_11_25)
		answered := make(chan struct{})
		go func() {
			f.send("POST", call("1", "wait", "{}", ""), header{"Mcp-Session-Id": calling})
			close(answered)
		}()
		(<-f.started).Supervised()
		ids := []string{calling}
		for range 3 {
			time.Sleep(time.Minute)
			ids = append(ids, f.session(Revision2025_11_25))
		}
		alive := func() (got [4]bool) { // asking over HTTP would be a use
			for i, id := range ids {
				got[i] = f.mcp.table.get(id) != nil
			}
			return got
		}
		f.mcp.SetLimits(0, 3)
		if got := alive(); got != [4]bool{true, false, true, true} {
			t.Errorf("at most three: got %v, want the oldest idle one gone", got)
		}
		f.mcp.SetLimits(90*time.Second, 3)
		time.Sleep(31 * time.Second)
		if got := alive(); got != [4]bool{true, false, false, true} {
			t.Errorf("90 s: got %v, want the one idle for longer gone", got)
		}
		if _, got, _ := f.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, nil); !strings.Contains(got, `session_ttl_seconds":90}`) {
			t.Errorf("initialize: got %s, want the new lifetime", got)
		}
		if n := len(f.store.ids()); n != 3 {
			t.Errorf("stored: got %d, want 3", n)
		}
		close(f.release)
		<-answered
	})
}

// An open GET stream is a use: a client that only listens is there again after a crash, and after an exit.
func TestListeningSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		id := f.session(Revision2025_11_25)
		get := openEvents(t, f.do("GET", "", header{"Mcp-Session-Id": id}))
		go func() {
			for {
				if _, err := get.next(); err != nil {
					return
				}
			}
		}()
		time.Sleep(100 * time.Hour)
		if age := time.Since(f.store.records[id].LastUsed); age > 3*time.Hour {
			t.Errorf("stored last use: got %s ago, want at most a tenth of a day", age)
		}
		if f.store.puts > 50 {
			t.Errorf("got %d writes in a hundred hours, want about one each 2.4 hours", f.store.puts)
		}
		f.mcp.Close(nil)
		if age := time.Since(f.store.records[id].LastUsed); age > time.Minute {
			t.Errorf("after the exit: got %s ago, want now", age)
		}
	})
}

// A wall clock that jumps, by time-keeping or because the machine slept, neither ends sessions nor keeps them.
func TestClockStepsDoNotEndSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newPipeFixture(t, nil)
		past, future := f.session(Revision2025_11_25), f.session(Revision2025_11_25)
		year := 365 * 24 * time.Hour
		f.mcp.table.get(past).lastUsed.Store(time.Now().Add(-26 * year).UnixNano())
		f.mcp.table.get(future).lastUsed.Store(time.Now().Add(26 * year).UnixNano())
		f.mcp.sweepSessions()
		if n := len(f.mcp.Clients()); n != 2 {
			t.Errorf("after the steps: got %d sessions, want both", n)
		}
		time.Sleep(24*time.Hour + 2*time.Second)
		if n := len(f.mcp.Clients()); n != 0 {
			t.Errorf("after a day: got %d sessions, want none", n)
		}
	})
}
