package rest

import (
	"testing"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
)

// paged is a core whose chat comes in pages of two, and grows while it is read.
type paged struct {
	Core
	last  *uint64
	reads *int
}

func (p paged) Session(key session.Key, q store.MessageQuery) (app.SessionView, error) {
	*p.reads++
	*p.last++
	before := q.Before
	if before == 0 {
		before = *p.last + 1
	}
	view := app.SessionView{Info: session.Info{Key: key}}
	for seq := max(before, 3) - 2; seq < before; seq++ {
		view.History = append(view.History, session.Message{Seq: seq})
	}
	return view, nil
}

func TestWholeChatOfManyPages(t *testing.T) {
	for _, last := range []uint64{0, 1, 2, 3, 6, 7} {
		reads, n := 0, last
		a := &api{core: paged{nil, &n, &reads}}
		view, err := a.whole(session.NewKey(session.ChannelCLI))
		if err != nil {
			t.Fatal(err)
		}
		want := last + 1 // there when the reading began
		if uint64(len(view.History)) != want || reads != int(want+1)/2 {
			t.Errorf("%d messages: got %d in %d reads, want %d", want, len(view.History), reads, want)
		}
		for i, m := range view.History {
			if m.Seq != uint64(i)+1 {
				t.Errorf("%d messages: got seq %d at %d", want, m.Seq, i)
			}
		}
	}
}
