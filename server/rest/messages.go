package rest

import (
	"context"
	"errors"
	"io"
	"reflect"

	"ionclaw-tray/app"
	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// newChat is the key that begins a chat.
const newChat = "new"

// message is what a person says to an agent.
type message struct {
	Message string `json:"message"`
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
}

// turnResult is how a turn ended. Error is a sentence for people, there unless State is done.
type turnResult struct {
	Session session.Key   `json:"session_id"`
	TaskID  string        `json:"task_id"`
	Agent   string        `json:"agent"`
	Text    string        `json:"text"`
	State   task.State    `json:"state"`
	Usage   session.Usage `json:"usage"`
	Error   string        `json:"error,omitempty"`
}

// Events of a turn's stream, beside the result.
type (
	turnBegun struct {
		Session session.Key `json:"session_id"`
		TaskID  string      `json:"task_id"`
	}
	turnText struct {
		Text string `json:"text"`
	}
	turnQueue struct {
		Position int `json:"position"`
	}
)

func (a *api) talking() handler {
	return handler{
		body: reflect.TypeFor[message](), answer: reflect.TypeFor[turnResult](),
		stream: "Events: turn {session_id, task_id} first, then delta {text}, status {text} and queue {position} as they come, and last result.",
		serve:  a.talk,
	}
}

func (a *api) talk(c *call) error {
	body, err := decode[message](c)
	if err != nil {
		return err
	}
	req := app.ChatRequest{Channel: body.Channel, Agent: body.Agent, Message: body.Message}
	switch body.Channel {
	case "":
		req.Channel = session.ChannelAPI
	case session.ChannelAPI, session.ChannelCLI:
	default:
		return badRequest("", "channel: must be %s or %s, not %s", session.ChannelAPI, session.ChannelCLI, shown(body.Channel))
	}
	name, err := c.path("key")
	if err != nil {
		return err
	}
	if name != newChat {
		if req.Key, err = session.Parse(name); err != nil {
			return err
		}
	}
	turn, err := a.core.Chat(req)
	if err != nil {
		return err
	}
	if wantsStream(c.r) {
		c.follow(turn)
		return nil
	}
	result, err := turn.Result(c.ctx())
	if err != nil {
		return err
	}
	return c.write(resultOf(turn, result))
}

func resultOf(t *agent.Turn, r agent.Result) turnResult {
	out := turnResult{Session: t.Key(), TaskID: t.TaskID(), Agent: r.Agent, Text: r.Text, State: r.State, Usage: r.Usage}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return out
}

// errQuiet ends a wait in which nothing came.
var errQuiet = errors.New("nothing new")

// follow sends what happens in a turn until it ends or the client leaves. Text that a slow client has not taken yet
// waits in the turn and comes as one piece.
func (c *call) follow(t *agent.Turn) {
	s := c.openStream()
	defer s.close()
	err := s.event("turn", "", turnBegun{t.Key(), t.TaskID()})
	for err == nil {
		var u agent.Update
		wait, stop := context.WithTimeoutCause(c.ctx(), c.keepAlive, errQuiet)
		u, err = t.Next(wait)
		stop()
		switch {
		case err == nil:
			err = s.update(u)
		case errors.Is(err, io.EOF):
			if r, rerr := t.Result(c.ctx()); rerr == nil {
				_ = s.event("result", "", resultOf(t, r))
			}
		case errors.Is(err, errQuiet):
			err = s.alive()
		}
	}
}

func (s *stream) update(u agent.Update) error {
	if u.QueuePosition > 0 {
		if err := s.event("queue", "", turnQueue{u.QueuePosition}); err != nil {
			return err
		}
	}
	if u.Status != "" {
		if err := s.event("status", "", turnText{u.Status}); err != nil {
			return err
		}
	}
	if u.Text != "" {
		return s.event("delta", "", turnText{u.Text})
	}
	return nil
}
