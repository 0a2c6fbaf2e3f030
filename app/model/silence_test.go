package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ionclaw-tray/app/session"
)

// canned is a transport without a network, so that time can be faked: it answers with what the test writes.
type canned struct {
	hang bool // no headers
	body *io.PipeReader
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	context.AfterFunc(r.Context(), func() { c.body.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Request: r, Body: c.body, Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
}

// fakeTime runs a request of the OpenAI style in a bubble of fake time. write gets the other end of the stream.
func fakeTime(t *testing.T, hang bool, write func(io.Writer), emit func(Chunk), check func(Response, error, time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		e := newEndpoint(ProviderConfig{Name: "test", BaseURL: "http://127.0.0.1/v1"}, noKey, quiet)
		e.client = &http.Client{Transport: canned{hang, r}}
		began := time.Now()
		if write != nil {
			go write(w)
		}
		res, err := openAI{e}.Stream(t.Context(), Request{Model: "m", Messages: []Message{{Role: session.RoleUser, Text: "hi"}}}, emit)
		check(res, err, time.Since(began))
	})
}

const (
	helloChunk  = "data: {\"choices\":[{\"delta\":{\"content\":\"hello \"}}]}\n\n"
	finishChunk = "data: {\"choices\":[{\"delta\":{\"content\":\"you\"},\"finish_reason\":\"stop\"}]}\n\n"
	lastChunk   = "data: [DONE]\n\n"
)

func TestSilence(t *testing.T) {
	for _, c := range []struct {
		name  string
		hang  bool
		write func(io.Writer)
		text  string
		after time.Duration
	}{
		{"no headers", true, nil, "", silenceLimit},
		{"no text", false, nil, "", silenceLimit},
		{"no more", false, func(w io.Writer) {
			time.Sleep(silenceLimit - time.Second)
			io.WriteString(w, helloChunk)
		}, "hello ", 2*silenceLimit - time.Second},
	} {
		fakeTime(t, c.hang, c.write, nil, func(r Response, err error, took time.Duration) {
			e := wantClass(t, err, Timeout)
			if !errors.Is(e, errSilent) || r.Text != c.text || took != c.after || e.Transient() {
				t.Errorf("%s: got %q, %v after %v, transient %v; want the end of the silence after %v and no retry", c.name, r.Text, e.Err, took, e.Transient(), c.after)
			}
		})
	}
}

// A local model that reads for minutes, or only sends comments, is not silent.
func TestLongThoughts(t *testing.T) {
	alive := 0
	fakeTime(t, false, func(w io.Writer) {
		for range 10 {
			time.Sleep(silenceLimit - time.Second)
			io.WriteString(w, ": still reading\n\n")
		}
		io.WriteString(w, finishChunk+lastChunk)
	}, func(c Chunk) { alive++ }, func(r Response, err error, took time.Duration) {
		if err != nil || r.Text != "you" || alive < 10 {
			t.Errorf("got %q, %v with %d signs of life; want the answer and at least 10", r.Text, err, alive)
		}
	})
}

// A slow reader of the answer is not a silent provider.
func TestSlowReader(t *testing.T) {
	fakeTime(t, false, func(w io.Writer) {
		for _, s := range []string{helloChunk, finishChunk, lastChunk} {
			io.WriteString(w, s) // each waits for a read of its own
		}
	},
		func(c Chunk) { time.Sleep(2 * silenceLimit) },
		func(r Response, err error, _ time.Duration) {
			if err != nil || r.Text != "hello you" {
				t.Errorf("got %q, %v; want the whole answer", r.Text, err)
			}
		})
}

// After the reason for the end only usage may follow, and not for long.
func TestOpenEnd(t *testing.T) {
	fakeTime(t, false, func(w io.Writer) { io.WriteString(w, finishChunk) }, nil, func(r Response, err error, took time.Duration) {
		if err != nil || r.Text != "you" || took != tailLimit {
			t.Errorf("got %q, %v after %v; want the answer after %v", r.Text, err, took, tailLimit)
		}
	})
	fakeTime(t, false, func(w io.Writer) { io.WriteString(w, finishChunk+lastChunk) }, nil, func(r Response, err error, took time.Duration) {
		if err != nil || r.Text != "you" || took != drainLimit {
			t.Errorf("got %q, %v after %v; want the answer after %v", r.Text, err, took, drainLimit)
		}
	})
}
