package mcp

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// Limits of one stream.
const (
	maxUnsent     = 1 << 20 // bytes that wait for a slow or absent reader; progress beyond it is dropped
	maxKeptFrames = 256     // sent frames kept for a client that comes back
	maxKept       = 1 << 20 // bytes of the same
	replayTime    = 5 * time.Minute
)

// stream holds the frames of one call as a ring. The call adds frames and never waits; at most one reader, the HTTP
// request of the moment, takes them by position.
type stream struct {
	id string

	mu          sync.Mutex
	frames      [][]byte // finished SSE frames with consecutive numbers
	first       uint64   // number of frames[0]; numbers begin at 1
	sent        uint64   // highest number that a reader has taken
	unsentBytes int
	keptBytes   int // of frames up to sent
	ended       bool
	paused      bool // the reader leaves once it has everything so far
	kicked      bool // only a client that comes back may still read
	reader      *reader
}

// reader is the side of a stream that an HTTP request holds.
type reader struct {
	wake chan struct{} // something to do, or somebody else is the reader now; capacity 1
	out  *sseWriter
}

func newStream(id string) *stream { return &stream{id: id, first: 1} }

// push adds a JSON-RPC message. A droppable one is left out when too much waits already. It reports whether the message
// was added.
func (s *stream) push(payload []byte, droppable bool) bool {
	return s.add("event: message\ndata: ", payload, droppable)
}

// prime adds an event without data, from which a client learns an id to come back with (MCP 2025-11-25, transports,
// listening for messages). retry, when positive, tells it how long to wait first.
func (s *stream) prime(retry time.Duration) {
	lead := "data: "
	if retry > 0 {
		lead = "retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\ndata: "
	}
	s.add(lead, nil, true)
}

func (s *stream) add(lead string, payload []byte, droppable bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || droppable && s.unsentBytes+len(payload) > maxUnsent {
		return false
	}
	frame := make([]byte, 0, len(s.id)+len(lead)+len(payload)+32)
	frame = append(append(append(frame, "id: "...), s.id...), '-')
	frame = strconv.AppendUint(frame, s.first+uint64(len(s.frames)), 10)
	frame = append(append(frame, '\n'), lead...)
	frame = append(frame, payload...)
	oneLine(frame[len(frame)-len(payload):])
	frame = append(frame, "\n\n"...)
	s.frames = append(s.frames, frame)
	s.unsentBytes += len(frame)
	s.signal()
	return true
}

// oneLine replaces line ends, which valid JSON has only between tokens, by spaces: a line end would end the data field.
func oneLine(payload []byte) {
	for {
		i := bytes.IndexAny(payload, "\r\n")
		if i < 0 {
			return
		}
		payload[i] = ' '
		payload = payload[i+1:]
	}
}

// end says that no frame follows.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

// signal wakes the reader. The caller holds mu.
func (s *stream) signal() {
	if s.reader != nil {
		select {
		case s.reader.wake <- struct{}{}:
		default:
		}
	}
}

// attach makes a new reader for what follows frame number after, and sends a previous reader away. It fails when frames
// between are no longer kept, or after was never given out. A client that comes back lifts a pause.
func (s *stream) attach(after uint64, out *sseWriter, back bool) (*reader, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holds(after) || s.kicked && !back {
		return nil, false
	}
	s.leave()
	if back {
		s.paused = false
	}
	s.reader = &reader{wake: make(chan struct{}, 1), out: out}
	return s.reader, true
}

// keeps reports whether attach would succeed.
func (s *stream) keeps(after uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds(after)
}

func (s *stream) holds(after uint64) bool {
	return after+1 >= s.first && after < s.first+uint64(len(s.frames))
}

// pause lets the reader leave after the frames that are there.
func (s *stream) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
	s.signal()
}

// hurry gives a reader that is stuck in a write little time to go on.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		s.reader.out.hurry()
	}
}

// kick sends the reader away without ending the stream, also one that is only about to attach.
func (s *stream) kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kicked = true
	s.leave()
}

func (s *stream) leave() {
	if s.reader != nil {
		s.signal()
		s.reader = nil
	}
}

// detach is called by a reader that leaves on its own.
func (s *stream) detach(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == r {
		s.reader = nil
	}
}

// take appends the frames after number pos to list and returns the new position. last reports that the stream has ended
// and nothing follows, paused that the reader is to leave although something may follow, because the tool or another
// reader wants it so.
func (s *stream) take(r *reader, pos uint64, list [][]byte) (frames [][]byte, now uint64, last, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != r {
		return list, pos, false, true
	}
	for _, frame := range s.frames[pos+1-s.first:] {
		list = append(list, frame)
		pos++
		if pos > s.sent {
			s.sent = pos
			s.unsentBytes -= len(frame)
			s.keptBytes += len(frame)
		}
	}
	s.trim()
	return list, pos, s.ended, s.paused
}

// trim drops sent frames beyond the limits, oldest first.
func (s *stream) trim() {
	drop, kept := 0, int(s.sent+1-s.first)
	for kept-drop > 1 && (kept-drop > maxKeptFrames || s.keptBytes > maxKept) {
		s.keptBytes -= len(s.frames[drop])
		s.frames[drop] = nil
		drop++
	}
	s.frames = s.frames[drop:]
	s.first += uint64(drop)
}

// bytes is the memory that the frames hold.
func (s *stream) bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keptBytes + s.unsentBytes
}
