package event

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOrderAndSequence(t *testing.T) {
	b := NewBus()
	s := b.Subscribe(64)
	defer s.Close()
	for range 20 {
		b.Publish(ConfigChanged{})
	}
	for want := uint64(1); want <= 20; want++ {
		if got := (<-s.C()).Seq; got != want {
			t.Fatalf("sequence: got %d, want %d", got, want)
		}
	}
}

func TestLossyEventsLeaveRoomForOthers(t *testing.T) {
	b := NewBus()
	s := b.Subscribe(16)
	defer s.Close()
	for range 100 {
		b.Publish(TurnDelta{Text: "x"})
	}
	if got, want := s.Dropped(), uint64(92); got != want {
		t.Errorf("dropped: got %d, want %d", got, want)
	}
	b.Publish(TaskChanged{})
	var last Event
	for len(s.C()) > 0 {
		last = (<-s.C()).Event
	}
	if _, ok := last.(TaskChanged); !ok {
		t.Errorf("last event: got %T, want TaskChanged", last)
	}
}

func TestStuckSubscriberCostsOneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBus()
		s := b.Subscribe(16)
		defer s.Close()
		begin := time.Now()
		for range 100 {
			b.Publish(TaskChanged{})
		}
		if got := time.Since(begin); got != MaxWait {
			t.Errorf("publishing to a stuck subscriber took %v, want %v", got, MaxWait)
		}
		if got, want := s.Dropped(), uint64(84); got != want {
			t.Errorf("dropped: got %d, want %d", got, want)
		}
		<-s.C()
		b.Publish(TaskChanged{})
		b.Publish(TaskChanged{})
		if got := time.Since(begin); got != MaxWait {
			t.Errorf("a subscriber that is still behind was waited for: %v, want %v", got, MaxWait)
		}
		if got, want := s.Dropped(), uint64(85); got != want {
			t.Errorf("dropped while behind: got %d, want %d", got, want)
		}
		for len(s.C()) > 0 {
			<-s.C()
		}
		b.Publish(TaskChanged{})
		if got, want := s.Dropped(), uint64(85); got != want {
			t.Errorf("dropped after it caught up: got %d, want %d", got, want)
		}
	})
}

func TestCloseReleasesAWaitingPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBus()
		s := b.Subscribe(16)
		for range 16 {
			b.Publish(TaskChanged{})
		}
		go func() {
			time.Sleep(MaxWait / 2)
			s.Close()
			s.Close()
		}()
		begin := time.Now()
		b.Publish(TaskChanged{})
		if got, want := time.Since(begin), MaxWait/2; got != want {
			t.Errorf("publisher waited %v, want %v", got, want)
		}
	})
}

func TestSince(t *testing.T) {
	b := NewBus()
	for i := range 10 {
		if i%2 == 0 {
			b.Publish(TurnDelta{})
		} else {
			b.Publish(TaskChanged{})
		}
	}
	got, ok := b.Since(4)
	if !ok || len(got) != 3 || got[0].Seq != 6 {
		t.Errorf("Since(4): got %v, %v; want the events 6, 8, 10", got, ok)
	}
	if got, ok := b.Since(10); !ok || len(got) != 0 {
		t.Errorf("Since(last): got %v, %v; want none, true", got, ok)
	}
	if _, ok := b.Since(11); ok {
		t.Error("Since(number of another run): got true, want false")
	}
	for range KeptEvents {
		b.Publish(TaskChanged{})
	}
	if got, ok := b.Since(4); ok || len(got) != KeptEvents {
		t.Errorf("Since(no longer kept): got %d events, %v; want %d, false", len(got), ok, KeptEvents)
	}
}

func TestConcurrentUse(t *testing.T) {
	b := NewBus()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := b.Subscribe(4)
			defer s.Close()
			for range 50 {
				b.Publish(TurnDelta{})
				b.Publish(TaskChanged{})
				<-s.C()
			}
		})
	}
	wg.Wait()
}
