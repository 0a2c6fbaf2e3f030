package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// Message is what a person says to an agent.
type Message struct {
	Text    string `json:"message"`
	Agent   string `json:"agent,omitempty"` // "": the program chooses
	Channel string `json:"channel"`
}

// Result is the end of a turn.
type Result struct {
	Session session.Key   `json:"session_id"`
	TaskID  string        `json:"task_id"`
	Agent   string        `json:"agent"`
	Text    string        `json:"text"`
	State   task.State    `json:"state"`
	Usage   session.Usage `json:"usage"`
	Error   string        `json:"error,omitempty"` // the sentence for people when the turn did not succeed
}

// Watcher is told what happens during a turn, one call at a time. Nil fields are skipped.
type Watcher struct {
	Turn   func(taskID string) // the message was accepted
	Delta  func(text string)   // a piece of the answer
	Status func(text string)   // what the program does meanwhile
	Queue  func(position int)  // the message waits behind others
}

// Send says something in a chat and follows the turn to its end. A key that is new makes a new chat. If ctx ends first
// the turn goes on without the caller; AbortTask ends it.
func (c *Client) Send(ctx context.Context, key session.Key, m Message, w Watcher) (Result, error) {
	res, err := c.send(ctx, http.MethodPost, "/sessions"+seg(key.String())+"/messages", m, "text/event-stream")
	if err != nil {
		return Result{}, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	if res.StatusCode/100 != 2 {
		body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody))
		if err != nil {
			return Result{}, lost(ctx, err)
		}
		return Result{}, refusal(res.StatusCode, body)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return Result{}, fmt.Errorf("%w: content type %q", errForeign, res.Header.Get("Content-Type"))
	}
	events := newFrames(res.Body)
	for {
		f, err := events.next()
		if errors.Is(err, io.EOF) {
			return Result{}, &app.Error{Code: app.CodeUnavailable, Message: "IonClaw ended before the answer was complete",
				Hint: fmt.Sprintf("what was received is kept: ionclaw sessions show %s", key)}
		}
		if err != nil {
			return Result{}, lost(ctx, err)
		}
		result, err := w.take(f)
		if err != nil {
			return Result{}, fmt.Errorf("reading event %q: %w", f.event, err)
		}
		if result != nil {
			return *result, nil
		}
	}
}

// take passes one event on; the result is not nil for the last one. Unknown events are those of a later version.
func (w *Watcher) take(f frame) (*Result, error) {
	var data struct {
		TaskID   string `json:"task_id"`
		Text     string `json:"text"`
		Position int    `json:"position"`
	}
	switch f.event {
	case "result":
		var r Result
		if err := json.Unmarshal(f.data, &r); err != nil {
			return nil, err
		}
		return &r, nil
	case "turn", "delta", "status", "queue":
		if err := json.Unmarshal(f.data, &data); err != nil {
			return nil, err
		}
	}
	switch {
	case f.event == "turn" && w.Turn != nil:
		w.Turn(data.TaskID)
	case f.event == "delta" && w.Delta != nil:
		w.Delta(data.Text)
	case f.event == "status" && w.Status != nil:
		w.Status(data.Text)
	case f.event == "queue" && w.Queue != nil:
		w.Queue(data.Position)
	}
	return nil, nil
}
