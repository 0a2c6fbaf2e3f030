package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
	"ionclaw-tray/app/tool"
)

// work is one turn while it runs; only its own goroutine uses it, except where said.
type work struct {
	*Runtime
	turn *Turn
	name string // of the agent
	cfg  config.Agent
	idle *time.Timer

	iterations int
	tools      int
	usage      session.Usage
	parts      []string        // texts of the finished steps, in order
	step       strings.Builder // text of the step that runs
	asked      bool            // the user's message is in the store
	loop       loopGuard
}

// answer is what the person gets: the last step's text, or all of it when the turn failed or that step was mute.
func (w *work) answer(complete bool) string {
	if n := len(w.parts); complete && n > 0 && strings.TrimSpace(w.parts[n-1]) != "" {
		return w.parts[n-1]
	}
	var all []string
	for _, p := range append(w.parts, w.step.String()) {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n\n")
}

// run does the turn: choose the agent, store the question, then model and tools until there is an answer.
func (w *work) run() error {
	t := w.turn
	w.idle = time.AfterFunc(w.Idle, func() { t.cancel(errIdle) })
	defer w.idle.Stop()

	history, err := w.history()
	if err != nil {
		return err
	}
	if err := w.chooseAgent(history); err != nil {
		return err
	}
	if n := len(history) - w.cfg.MaxHistory; n > 0 {
		history = history[n:]
	}
	now := session.At(w.now())
	w.Store.PutTask(t.update(func(k *task.Task) {
		k.State, k.QueuePosition, k.Agent = task.Running, 0, w.name
		k.StartedAt, k.UpdatedAt = later(now, k.CreatedAt), later(now, k.UpdatedAt)
	}))
	w.append(session.Message{Role: session.RoleUser, Content: t.req.Message})
	w.asked = true

	messages := append(conversation(history), model.Message{Role: session.RoleUser, Text: t.req.Message})
	tools, specs := w.agentTools()
	for {
		resp, err := w.ask(messages, specs)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, resp.Text)
		w.step.Reset()
		w.append(session.Message{Role: session.RoleAssistant, Content: resp.Text, ToolCalls: resp.ToolCalls, Usage: &resp.Usage})
		if len(resp.ToolCalls) == 0 {
			return w.checkAnswer(resp)
		}
		if w.iterations >= w.cfg.MaxIterations {
			return &turnError{class: ClassMaxIterations, text: fmt.Sprintf("Agent '%s' was stopped after %d steps without a final answer. Ask for less at once, or raise max_iterations of the agent.", w.name, w.iterations)}
		}
		results := w.runTools(tools, resp.ToolCalls)
		if err := context.Cause(t.ctx); err != nil {
			return err
		}
		messages = append(messages, model.Message{Role: session.RoleAssistant, Text: resp.Text, ToolCalls: resp.ToolCalls})
		messages = append(messages, results...)
		if call, again := w.loop.seen(resp.ToolCalls, results); again {
			return &turnError{class: ClassLoop, text: fmt.Sprintf("Agent '%s' was stopped: it called the tool '%s' %d times in a row with the same arguments and got the same result each time. Please rephrase the request, or try another model.", w.name, call, maxSameCalls)}
		}
	}
}

// ask streams one step of the model.
func (w *work) ask(messages []model.Message, specs []tool.Spec) (model.Response, error) {
	t := w.turn
	w.iterations++
	w.say("step %d, asking %s", w.iterations, w.cfg.Model)
	req := model.Request{
		System:   w.system(),
		Messages: messages,
		Tools:    specs,
		Params:   model.Params{Temperature: w.cfg.Params.Temperature, TopP: w.cfg.Params.TopP, MaxTokens: w.cfg.Params.MaxTokens},
	}
	models := append([]string{w.cfg.Model}, w.cfg.Fallbacks...)
	first := len(w.parts) > 0 && w.parts[len(w.parts)-1] != ""
	resp, err := w.Models().Stream(t.ctx, models, req, func(c model.Chunk) {
		w.idle.Reset(w.Idle)
		if c.Text == "" {
			return
		}
		text := c.Text
		if first { // what was said before a tool call and after it are two paragraphs
			text, first = "\n\n"+text, false
		}
		w.step.WriteString(c.Text)
		w.Store.Draft(t.Key(), w.name, t.TaskID(), text)
		t.change(func() { t.text.WriteString(text) })
		w.Events.Publish(event.TurnDelta{Session: t.Key(), TaskID: t.TaskID(), Agent: w.name, Text: text})
	}, func(note string) {
		w.idle.Reset(w.Idle)
		w.say("%s", note)
	})
	w.usage = w.usage.Add(resp.Usage)
	return resp, err
}

// checkAnswer refuses an answer that says nothing: silence must not look like success.
func (w *work) checkAnswer(resp model.Response) error {
	if strings.TrimSpace(w.answer(true)) != "" {
		return nil
	}
	hint := "Please try again, or choose another model."
	if resp.Truncated {
		hint = "It reached its token limit before it wrote any text; raise params.max_tokens of the agent."
	}
	return &turnError{class: string(model.Unknown), text: fmt.Sprintf("Model '%s' returned an empty answer. %s", resp.Model, hint)}
}

// history reads what the model gets to see of the chat.
func (w *work) history() ([]session.Message, error) {
	limit := 0
	for _, a := range w.Config().Agents { // which of them answers may not be known yet
		limit = max(limit, a.MaxHistory)
	}
	msgs, err := w.Store.Messages(w.turn.Key(), store.MessageQuery{Limit: limit})
	if err != nil && !isNotFound(err) {
		return nil, &turnError{class: ClassStorage, text: fmt.Sprintf("The chat's history could not be read: %v.", err), err: err}
	}
	return msgs, nil
}

// recordFailure stores what was received of a failed turn, and why it failed, as a message of the chat.
func (w *work) recordFailure(err error, state task.State) {
	if !w.asked {
		if state == task.Stopped {
			return // a message that was withdrawn before an agent saw it leaves no trace in the chat
		}
		w.append(session.Message{Role: session.RoleUser, Content: w.turn.req.Message})
	}
	w.append(session.Message{
		Role:    session.RoleAssistant,
		Content: w.step.String(),
		Error:   err.Error(),
		Aborted: state == task.Stopped || state == task.Interrupted,
	})
}

func stack() string { return string(debug.Stack()) }
