package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ionclaw-tray/app"
	"ionclaw-tray/app/agent"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
	"ionclaw-tray/server/mcp"
)

// abortWait is how long a cancelled call waits for its turn to end, so that its result can hold what was received.
// mcp answers for the tool when it takes longer than it grants.
const abortWait = 2 * time.Second

// Keys of a chat result's _meta.
const (
	metaSession = "ionclaw/session_id"
	metaTask    = "ionclaw/task_id"
	metaAgent   = "ionclaw/agent"
	metaUsage   = "ionclaw/usage"
)

func (t tools) chat(ctx context.Context, call *mcp.Call) (*mcp.Result, error) {
	var args struct {
		Message   string `json:"message"`
		SessionID string `json:"session_id"`
		Agent     string `json:"agent"`
	}
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	if args.SessionID == "" {
		args.SessionID = call.Session
	}
	key, err := session.Parse(args.SessionID)
	if err != nil {
		return refusal(err)
	}
	turn, err := t.core.Chat(app.ChatRequest{Key: key, Channel: session.ChannelMCP, Agent: args.Agent, Message: args.Message})
	if err != nil {
		return refusal(err)
	}
	call.Supervised() // the agent watches over its own silence, and a message may wait behind a long answer
	call.DefaultToken(turn.TaskID())
	if err := follow(ctx, call, turn); err != nil {
		return left(err, turn), nil
	}
	res, err := turn.Result(ctx)
	if err != nil {
		return left(err, turn), nil
	}
	return chatResult(turn, res), nil
}

// follow passes on what happens in the turn until it ends. The error is why ctx ended.
func follow(ctx context.Context, call *mcp.Call, turn *agent.Turn) error {
	for {
		u, err := turn.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if u.QueuePosition > 0 {
			call.Announce(fmt.Sprintf("waiting: position %d in this chat", u.QueuePosition))
		}
		if u.Status != "" {
			call.Status(u.Status)
		}
		call.Progress(u.Text)
	}
}

// left ends a call before its turn. A client that cancelled wants the turn to end; when the channel was stopped the
// turn goes on, since somebody may still want its answer; with the process it ends.
func left(cause error, turn *agent.Turn) *mcp.Result {
	if errors.Is(cause, mcp.ErrCancelled) {
		turn.Abort()
		ctx, cancel := context.WithTimeout(context.Background(), abortWait)
		defer cancel()
		if res, err := turn.Result(ctx); err == nil {
			return chatResult(turn, res)
		}
	}
	text := fmt.Sprintf("The connection ended before the answer was complete (%v). The agent goes on; read the answer later with get_task (task_id %s) or get_session (session_id %s).", cause, turn.TaskID(), turn.Key())
	if errors.Is(cause, errClosing) {
		text = fmt.Sprintf("IonClaw was closed before the answer was complete. What had been written is kept in the chat (session_id %s); send the message again once IonClaw runs.", turn.Key())
	}
	r := mcp.ErrorResult(text)
	r.Meta = chatMeta(turn)
	return r
}

func chatResult(turn *agent.Turn, res agent.Result) *mcp.Result {
	r := mcp.TextResult(res.Text)
	if res.Err != nil {
		r = mcp.ErrorResult(failure(res))
	}
	r.Meta = chatMeta(turn)
	r.Meta[metaAgent] = res.Agent
	r.Meta[metaUsage] = res.Usage
	return r
}

func chatMeta(turn *agent.Turn) map[string]any {
	return map[string]any{metaSession: turn.Key().String(), metaTask: turn.TaskID()}
}

// failure is the sentence for people, with whatever had been received.
func failure(res agent.Result) string {
	if res.Text == "" {
		return res.Err.Error()
	}
	what := "The answer is incomplete. Received so far:"
	if res.State == task.Failed && agent.Complete(res.Err) {
		what = "The answer:"
	}
	return res.Err.Error() + "\n\n" + what + "\n\n" + res.Text
}
