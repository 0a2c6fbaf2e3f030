package rest

import (
	"strconv"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/event"
)

// eventBuffer is how many events wait for a slow reader before the bus drops some for it.
const eventBuffer = 256

// lastEventID is the header with which a reader asks for what it missed (WHATWG HTML, section 9.2).
const lastEventID = "Last-Event-ID"

func (a *api) watching() handler {
	return handler{
		stream: "Each event has its sequence number as id, its type as event and the event itself as data (x-events). " +
			"reset says that some events are lost: read the state again. turn.delta and turn.activity may be missing for slow readers.",
		serve: a.watch,
	}
}

func (a *api) watch(c *call) error {
	if err := c.noBody(); err != nil {
		return err
	}
	from, resume, err := c.resumeFrom()
	if err != nil {
		return err
	}
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		return &app.Error{Code: app.CodeBusy, Message: "too many event streams are open (" + strconv.Itoa(MaxEventStreams) + ")", Hint: "close one first"}
	}
	bus := a.core.Events()
	w := &watcher{bus: bus, last: newest(bus)} // before the subscription: what comes in between is in its channel or replayed
	w.sub = bus.Subscribe(eventBuffer)
	defer w.sub.Close()
	w.stream = c.openStream()
	defer w.close()
	if resume {
		err = w.replay(from)
	}
	tick := time.NewTicker(c.keepAlive)
	defer tick.Stop()
	for err == nil {
		select {
		case env := <-w.sub.C():
			err = w.pass(env)
		case <-tick.C:
			err = w.alive()
		case <-c.ctx().Done():
			return nil
		}
		if err == nil {
			err = w.fill()
		}
	}
	return nil // the reader is gone
}

// resumeFrom reads the Last-Event-ID header.
func (c *call) resumeFrom() (seq uint64, there bool, err error) {
	text := c.r.Header.Get(lastEventID)
	if text == "" {
		return 0, false, nil
	}
	seq, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, badRequest("", "%s must be the id of an event, not %s", lastEventID, shown(text))
	}
	return seq, true, nil
}

// newest is the number of the newest event that the bus can replay.
func newest(bus *event.Bus) uint64 {
	kept, _ := bus.Since(0)
	if len(kept) == 0 {
		return 0
	}
	return kept[len(kept)-1].Seq
}

// watcher passes the events of a bus on, each at most once and in order.
type watcher struct {
	*stream
	bus     *event.Bus
	sub     *event.Subscription
	last    uint64 // number of the last event that was passed on
	dropped uint64 // what the subscription had missed when that was last looked at
}

func (w *watcher) pass(env event.Envelope) error {
	if env.Seq <= w.last {
		return nil // replayed already
	}
	w.last = env.Seq
	return w.event(env.Event.Type(), strconv.FormatUint(env.Seq, 10), env.Event)
}

// fill replays what the bus has dropped for this reader meanwhile, as far as it is kept.
func (w *watcher) fill() error {
	dropped := w.sub.Dropped()
	if dropped == w.dropped {
		return nil
	}
	w.dropped = dropped
	return w.replay(w.last)
}

// replay sends the kept events after a number. If some are lost it says so first, under a number from which a reader
// that comes back can go on.
func (w *watcher) replay(from uint64) error {
	kept, complete := w.bus.Since(from)
	w.last = from
	if !complete {
		if len(kept) > 0 {
			w.last = kept[0].Seq - 1
		} else {
			w.last = newest(w.bus) // the number was of another run
		}
		if err := w.event("reset", strconv.FormatUint(w.last, 10), struct{}{}); err != nil {
			return err
		}
	}
	for _, env := range kept {
		if err := w.pass(env); err != nil {
			return err
		}
	}
	return nil
}
