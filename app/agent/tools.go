package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
	"ionclaw-tray/app/tool"
)

const (
	// maxParallelTools bounds how many calls of one step run at the same time.
	maxParallelTools = 8
	// maxSameCalls ends a turn that repeats one step of identical calls with identical results that often.
	maxSameCalls = 4
	// maxShownArguments bounds how much of broken arguments the model is shown again, in bytes.
	maxShownArguments = 500
)

// agentTools returns the tools that the agent may use, and how they are described to the model.
func (w *work) agentTools() (map[string]tool.Tool, []tool.Spec) {
	selected, missing := w.Tools.Select(w.cfg.Tools)
	if len(missing) > 0 {
		w.Log.Warn("agent names tools that do not exist", "agent", w.name, "tools", missing)
	}
	byName := make(map[string]tool.Tool, len(selected))
	specs := make([]tool.Spec, len(selected))
	for i, t := range selected {
		specs[i] = t.Spec()
		byName[specs[i].Name] = t
	}
	return byName, specs
}

// runTools runs the calls of one step side by side. Results come back, and are stored, in the order of the calls.
func (w *work) runTools(tools map[string]tool.Tool, calls []session.ToolCall) []model.Message {
	results := make([]tool.Result, len(calls))
	gate := make(chan struct{}, maxParallelTools)
	var wg sync.WaitGroup
	for i, call := range calls {
		w.say("step %d, tool %s", w.iterations, call.Name)
		w.touch()
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			results[i] = w.runTool(tools[call.Name], call)
			w.touch()
		})
	}
	wg.Wait()

	w.tools += len(calls)
	now := session.At(w.now())
	w.Store.PutTask(w.turn.update(func(k *task.Task) {
		k.IterationCount, k.ToolCount, k.Usage, k.UpdatedAt = w.iterations, w.tools, w.usage, later(now, k.UpdatedAt)
	}))
	answers := make([]model.Message, len(calls))
	stored := make([]session.Message, len(calls))
	for i, call := range calls {
		answers[i] = model.Message{Role: session.RoleTool, Text: results[i].Text, ToolCallID: call.ID, ToolName: call.Name, ToolError: results[i].IsError}
		stored[i] = session.Message{Role: session.RoleTool, Content: results[i].Text, ToolCallID: call.ID, ToolError: results[i].IsError}
	}
	w.append(stored...)
	return answers
}

func (w *work) touch() { w.idle.Reset(w.Idle) }

// runTool runs one call. A tool that does not stop when the turn ends is left behind: it must not hold up the chat.
func (w *work) runTool(t tool.Tool, call session.ToolCall) tool.Result {
	if t == nil {
		return tool.Result{Text: fmt.Sprintf("There is no tool %q. Use only the tools that are offered.", call.Name), IsError: true}
	}
	if raw, bad := model.BadArguments(call); bad {
		return tool.Result{Text: fmt.Sprintf("The arguments of %s are not a JSON object: %s. Call it again with valid arguments.", call.Name, clip(raw, maxShownArguments)), IsError: true}
	}
	ctx := w.turn.ctx
	done := make(chan tool.Result, 1)
	go func() { done <- w.callTool(ctx, t, call) }()
	select {
	case res := <-done:
		return res
	case <-ctx.Done():
	}
	// One that stops by itself gets the time to say so.
	grace := time.NewTimer(50 * time.Millisecond)
	defer grace.Stop()
	select {
	case res := <-done:
		return res
	case <-grace.C:
		return tool.Result{Text: "The call was ended with the turn.", IsError: true}
	}
}

func (w *work) callTool(ctx context.Context, t tool.Tool, call session.ToolCall) (res tool.Result) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("tool panicked", "tool", call.Name, "panic", p, "stack", stack())
			res = tool.Result{Text: fmt.Sprintf("The tool %s failed because of an internal error.", call.Name), IsError: true}
		}
	}()
	res, err := t.Run(ctx, tool.Call{
		Arguments: call.Arguments,
		Progress: func(text string) {
			w.touch()
			w.say("step %d, tool %s: %s", w.iterations, call.Name, text)
		},
	})
	if err != nil {
		return tool.Result{Text: fmt.Sprintf("The tool %s failed: %v", call.Name, err), IsError: true}
	}
	return res
}

// loopGuard notices a model that repeats itself without getting anything new.
type loopGuard struct {
	last  []string
	count int
}

// seen records a step and reports the repeated tool when the same one came maxSameCalls times in a row.
func (g *loopGuard) seen(calls []session.ToolCall, results []model.Message) (string, bool) {
	step := make([]string, 0, 3*len(calls))
	for i, c := range calls {
		step = append(step, c.Name, string(c.Arguments), results[i].Text)
	}
	if !slices.Equal(step, g.last) {
		g.last, g.count = step, 1
		return "", false
	}
	g.count++
	return calls[0].Name, g.count >= maxSameCalls
}
