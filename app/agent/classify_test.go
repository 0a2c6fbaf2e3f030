package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
)

const threeAgents = `
agents:
  main: {description: Everything else}
  Coder: {description: Writes programs}
  poet: {description: Writes verses}
classifier: {model: builtin/offline}
`

// routing answers route requests with choose and everything else with "ok".
func routing(choose func(model.Request) (model.Response, error)) scripted {
	return func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if req.ForceTool != "" {
			return choose(req)
		}
		return says("ok", emit)
	}
}

func choice(name string) (model.Response, error) {
	args, err := json.Marshal(map[string]string{"agent": name})
	return model.Response{ToolCalls: []session.ToolCall{{ID: "r", Name: "route", Arguments: args}}}, err
}

func TestClassifier(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(model.Request) (model.Response, error)
		want   string
	}{
		{"exact name", func(model.Request) (model.Response, error) { return choice("poet") }, "poet"},
		{"other case", func(model.Request) (model.Response, error) { return choice(" coder ") }, "Coder"},
		{"unknown name", func(model.Request) (model.Response, error) { return choice("chef") }, "main"},
		{"no tool call", func(model.Request) (model.Response, error) { return model.Response{Text: "hm"}, nil }, "main"},
		{"failure", func(model.Request) (model.Response, error) { return model.Response{}, errors.New("down") }, "main"},
	} {
		f := newRuntime(t, threeAgents, routing(c.answer))
		res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "hi"))
		if res.Agent != c.want || res.Text != "ok" {
			t.Errorf("%s: got agent %q, text %q; want %q", c.name, res.Agent, res.Text, c.want)
		}
	}
}

func TestClassifierIsSticky(t *testing.T) {
	answers := []func() (model.Response, error){
		func() (model.Response, error) { return choice("poet") },
		func() (model.Response, error) { return model.Response{}, errors.New("down") },
		func() (model.Response, error) { return choice("Coder") },
	}
	var prompts []string
	f := newRuntime(t, threeAgents, routing(func(req model.Request) (model.Response, error) {
		prompts = append(prompts, last(req))
		a := answers[0]
		answers = answers[1:]
		return a()
	}))
	key := session.NewKey(session.ChannelMCP)
	for i, want := range []string{"poet", "poet", "Coder"} {
		if res := result(t, f.start(t, key, "message "+want)); res.Agent != want {
			t.Errorf("message %d: got agent %q, want %q", i+1, res.Agent, want)
		}
	}
	if !strings.Contains(prompts[2], "user: message poet") || !strings.Contains(prompts[2], "assistant: ok") {
		t.Errorf("the classifier does not see the chat: %q", prompts[2])
	}
	got := history(t, f, key)
	if strings.Count(got, "assistant: ok") != 3 {
		t.Errorf("history after two agents:\n%s", got)
	}
}

func TestNamedAgentNeedsNoClassifier(t *testing.T) {
	f := newRuntime(t, threeAgents, routing(func(model.Request) (model.Response, error) {
		t.Error("the classifier was asked")
		return choice("main")
	}))
	turn, err := f.Start(Request{Key: session.NewKey(session.ChannelMCP), Agent: "poet", Message: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	if res := result(t, turn); res.Agent != "poet" {
		t.Errorf("agent: got %q, want poet", res.Agent)
	}
}

// A classifier that does not answer holds a message up for ten seconds, no longer; it is asked without any randomness.
func TestClassifierHasTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan model.Request, 1)
		f := newRuntime(t, threeAgents, scripted(func(ctx context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
			if req.ForceTool == "" {
				return says("ok", emit)
			}
			asked <- req
			<-ctx.Done()
			return model.Response{}, context.Cause(ctx)
		}))
		begin := time.Now()
		res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "hi"))
		if took := time.Since(begin); took < classifyTime || took > classifyTime+time.Second || classifyTime != 10*time.Second {
			t.Errorf("took %v, want the 10 s of the classifier", took)
		}
		if res.Agent != "main" || res.Text != "ok" {
			t.Errorf("got %+v, want the answer of main", res)
		}
		if req := <-asked; req.Params.Temperature == nil || *req.Params.Temperature != 0 {
			t.Errorf("temperature: got %v, want 0", req.Params.Temperature)
		}
	})
}

// Without an agent "main" the first by name answers what nobody was chosen for; a single agent needs no choice.
func TestAgentWhenNobodyIsChosen(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"agents: {zoe: {description: z}, ann: {description: a}}", "ann"},
		{"agents: {zoe: {description: z}}", "zoe"},
	} {
		f := newRuntime(t, c.yaml, routing(func(model.Request) (model.Response, error) {
			return model.Response{}, errors.New("down")
		}))
		if res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "hi")); res.Agent != c.want {
			t.Errorf("%s: got agent %q, want %q", c.yaml, res.Agent, c.want)
		}
	}
}
