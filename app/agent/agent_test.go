package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/event"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
	"ionclaw-tray/app/task"
	"ionclaw-tray/app/tool"
)

// scripted is a model that a test plays.
type scripted func(ctx context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error)

func (s scripted) Stream(ctx context.Context, _ []string, req model.Request, emit func(model.Chunk), _ func(string)) (model.Response, error) {
	return s(ctx, req, emit)
}

// says answers with text in one chunk.
func says(text string, emit func(model.Chunk)) (model.Response, error) {
	emit(model.Chunk{Text: text})
	return model.Response{Text: text, Usage: session.Usage{Input: 2, Output: 3}, Model: "test/model"}, nil
}

func last(req model.Request) string { return req.Messages[len(req.Messages)-1].Text }

type fixture struct {
	*Runtime
	store *store.Store
	bus   *event.Bus
}

const oneAgent = `
agents:
  main: {description: Everything, model: builtin/offline, tools: ["*"], max_iterations: 6}
`

func newRuntime(t *testing.T, yaml string, models Models, tools ...tool.Tool) *fixture {
	t.Helper()
	cfg, err := config.Parse("config.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus()
	st, err := store.Open(filepath.Join(t.TempDir(), "test.db"), store.Options{Notify: bus.Publish})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{
		Store: st, Events: bus, Tools: set, Log: slog.New(slog.DiscardHandler),
		Config: func() *config.Config { return cfg },
		Models: func() Models { return models },
	})
	t.Cleanup(func() {
		if err := errors.Join(r.Close(context.Background()), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return &fixture{r, st, bus}
}

func (f *fixture) start(t *testing.T, key session.Key, message string) *Turn {
	t.Helper()
	turn, err := f.Start(Request{Key: key, Channel: session.ChannelMCP, Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func result(t *testing.T, turn *Turn) Result {
	t.Helper()
	res, err := turn.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func history(t *testing.T, f *fixture, key session.Key) string {
	t.Helper()
	msgs, err := f.store.Messages(key, store.MessageQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range msgs {
		line := string(m.Role) + ": " + m.Content
		for _, c := range m.ToolCalls {
			line += " [" + c.Name + string(c.Arguments) + "]"
		}
		if m.Error != "" {
			line += " !" + m.Error
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestTurnIsStoredBeforeItsResult(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		return says("echo "+last(req), emit)
	}))
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "hello")
	res := result(t, turn)
	if res.Text != "echo hello" || res.State != task.Done || res.Err != nil || res.Agent != "main" {
		t.Fatalf("result: got %+v", res)
	}
	if got, want := history(t, f, key), "user: hello\nassistant: echo hello"; got != want {
		t.Errorf("history:\ngot  %q\nwant %q", got, want)
	}
	k, err := f.store.Task(turn.TaskID())
	if err != nil {
		t.Fatal(err)
	}
	if k.State != task.Done || k.Result != "echo hello" || k.Title != "hello" || k.Usage.Output != 3 || k.IterationCount != 1 || k.StartedAt.IsZero() || k.CompletedAt.IsZero() {
		t.Errorf("task: got %+v", k)
	}
	if u, err := turn.Next(t.Context()); err != nil || u.Text != "echo hello" {
		t.Errorf("first update: got %+v, %v; want the whole text", u, err)
	}
	if _, err := turn.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last update: got %v, want io.EOF", err)
	}
}

func TestMessagesOfOneChatAreAnsweredInOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	gate := make(chan struct{})
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		<-gate
		var parts []string
		for _, m := range req.Messages {
			parts = append(parts, m.Text)
		}
		mu.Lock()
		seen = append(seen, strings.Join(parts, "|"))
		mu.Unlock()
		return says("re "+last(req), emit)
	}))
	key := session.NewKey(session.ChannelMCP)
	turns := []*Turn{f.start(t, key, "one"), f.start(t, key, "two"), f.start(t, key, "two")}
	if u, err := turns[2].Next(t.Context()); err != nil || u.QueuePosition != 2 {
		t.Errorf("position of the third: got %+v, %v; want 2", u, err)
	}
	close(gate)
	for _, turn := range turns {
		result(t, turn)
	}
	want := []string{"one", "one|re one|two", "one|re one|two|re two|two"}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("what the model saw:\ngot  %q\nwant %q", seen, want)
	}
}

func TestChatsRunSideBySideUpToTheLimit(t *testing.T) {
	started := make(chan string, 10)
	release := make(chan struct{})
	f := newRuntime(t, "agents_runtime: {max_parallel: 2}\n"+oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		started <- last(req)
		<-release
		return says("ok", emit)
	}))
	var turns []*Turn
	for i := range 3 {
		turns = append(turns, f.start(t, session.NewKey(session.ChannelMCP), fmt.Sprint(i)))
	}
	<-started
	<-started
	select {
	case m := <-started:
		t.Fatalf("turn %s runs beyond the limit of 2", m)
	default:
	}
	close(release)
	for _, turn := range turns {
		if res := result(t, turn); res.State != task.Done {
			t.Errorf("state: got %s, want done", res.State)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(func(ctx context.Context, _ model.Request, _ func(model.Chunk)) (model.Response, error) {
		<-ctx.Done()
		return model.Response{}, context.Cause(ctx)
	}))
	key := session.NewKey(session.ChannelMCP)
	for i := range 1 + MaxWaiting {
		f.start(t, key, fmt.Sprint(i))
	}
	if _, err := f.Start(Request{Key: key, Message: "one too many"}); !errors.Is(err, ErrBusy) {
		t.Errorf("message %d: got %v, want ErrBusy", MaxWaiting+2, err)
	}
	if _, err := f.Start(Request{Key: session.NewKey(session.ChannelCLI), Message: "elsewhere"}); err != nil {
		t.Errorf("another chat: got %v, want no error", err)
	}
	found, err := f.Abort(t.Context(), key)
	if err != nil || !found {
		t.Fatalf("abort: got %v, %v", found, err)
	}
	if found, _ := f.Abort(t.Context(), key); found {
		t.Error("a second abort found something to end")
	}
	page, err := f.store.Tasks(store.TaskQuery{Limit: 100, Session: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range page.Tasks {
		if k.State != task.Stopped {
			t.Errorf("task %s: got %s, want stopped", k.Title, k.State)
		}
	}
	if len(page.Tasks) != 1+MaxWaiting {
		t.Errorf("stored tasks: got %d, want %d", len(page.Tasks), 1+MaxWaiting)
	}
}

func TestAbortBeforeTheFirstByteIsQuick(t *testing.T) {
	asked := make(chan struct{})
	f := newRuntime(t, oneAgent, scripted(func(ctx context.Context, _ model.Request, _ func(model.Chunk)) (model.Response, error) {
		close(asked)
		<-ctx.Done()
		return model.Response{}, context.Cause(ctx)
	}))
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "think")
	<-asked
	begin := time.Now()
	if _, err := f.Abort(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 2*time.Second { // 100 ms is the promise; loaded machines get slack
		t.Errorf("abort took %v", took)
	}
	res := result(t, turn)
	if res.State != task.Stopped || res.Err == nil || res.Err.Error() != "The turn was aborted." {
		t.Errorf("result: got %+v", res)
	}
	if got, want := history(t, f, key), "user: think\nassistant:  !The turn was aborted."; got != want {
		t.Errorf("history:\ngot  %q\nwant %q", got, want)
	}
}

func TestAbortKeepsWhatWasReceived(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(func(ctx context.Context, _ model.Request, emit func(model.Chunk)) (model.Response, error) {
		emit(model.Chunk{Text: "half an ans"})
		<-ctx.Done()
		return model.Response{Text: "half an ans"}, context.Cause(ctx)
	}))
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "q")
	for {
		u, err := turn.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if u.Text != "" {
			break
		}
	}
	turn.Abort()
	if res := result(t, turn); res.Text != "half an ans" || res.State != task.Stopped {
		t.Errorf("result: got %+v", res)
	}
	if got, want := history(t, f, key), "user: q\nassistant: half an ans !The turn was aborted."; got != want {
		t.Errorf("history:\ngot  %q\nwant %q", got, want)
	}
}

func TestSilenceEndsTheTurn(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(func(ctx context.Context, _ model.Request, _ func(model.Chunk)) (model.Response, error) {
		<-ctx.Done()
		return model.Response{}, context.Cause(ctx)
	}))
	f.Idle = 20 * time.Millisecond
	res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "q"))
	if res.State != task.Failed || res.Err == nil || !strings.Contains(res.Err.Error(), "silent for 20ms") {
		t.Errorf("result: got %+v", res)
	}
}

func TestCloseInterrupts(t *testing.T) {
	asked := make(chan struct{})
	f := newRuntime(t, oneAgent, scripted(func(ctx context.Context, _ model.Request, emit func(model.Chunk)) (model.Response, error) {
		emit(model.Chunk{Text: "part"})
		close(asked)
		<-ctx.Done()
		return model.Response{}, context.Cause(ctx)
	}))
	key := session.NewKey(session.ChannelMCP)
	running, waiting := f.start(t, key, "a"), f.start(t, key, "b")
	<-asked
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, turn := range []*Turn{running, waiting} {
		k, err := f.store.Task(turn.TaskID())
		if err != nil || k.State != task.Interrupted || k.ErrorClass != ClassInterrupted {
			t.Errorf("task %s: got %s %s, %v; want interrupted", k.Title, k.State, k.ErrorClass, err)
		}
	}
	if _, err := f.Start(Request{Key: key, Message: "c"}); !errors.Is(err, ErrClosing) {
		t.Errorf("after Close: got %v, want ErrClosing", err)
	}
}

func TestBadRequests(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(nil))
	if _, err := f.Start(Request{Key: session.NewKey("mcp"), Message: " \n"}); !errors.Is(err, ErrEmptyMessage) {
		t.Errorf("blank message: got %v", err)
	}
	_, err := f.Start(Request{Key: session.NewKey("mcp"), Message: "x", Agent: "cook"})
	if !errors.Is(err, ErrUnknownAgent) || !strings.Contains(err.Error(), "the agents are: main") {
		t.Errorf("unknown agent: got %v", err)
	}
}

func TestModelFailureIsTheSentenceEverywhere(t *testing.T) {
	want := &model.Error{Class: model.Authentication, Model: "anthropic/claude", Provider: "anthropic", Err: errors.New("401 raw")}
	f := newRuntime(t, oneAgent, scripted(func(context.Context, model.Request, func(model.Chunk)) (model.Response, error) {
		return model.Response{}, want
	}))
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "q")
	res := result(t, turn)
	if res.Err == nil || res.Err.Error() != want.Error() {
		t.Errorf("result: got %v, want %v", res.Err, want)
	}
	k, _ := f.store.Task(turn.TaskID())
	if k.ErrorMessage != want.Error() || k.ErrorClass != "authentication" {
		t.Errorf("task: got %q, %q", k.ErrorMessage, k.ErrorClass)
	}
	if got, want := history(t, f, key), "user: q\nassistant:  !"+want.Error(); got != want {
		t.Errorf("history:\ngot  %q\nwant %q", got, want)
	}
	if strings.Contains(res.Err.Error(), "raw") {
		t.Error("the provider's raw text reached the person")
	}
}

func TestPanicEndsOnlyItsTurn(t *testing.T) {
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if last(req) == "bad" {
			panic("boom")
		}
		return says("fine", emit)
	}))
	key := session.NewKey(session.ChannelMCP)
	if res := result(t, f.start(t, key, "bad")); res.State != task.Failed || strings.Contains(res.Err.Error(), "boom") {
		t.Errorf("panicking turn: got %+v", res)
	}
	if res := result(t, f.start(t, key, "good")); res.Text != "fine" {
		t.Errorf("next turn: got %+v", res)
	}
}

func TestEmptyAnswerIsAFailure(t *testing.T) {
	for _, truncated := range []bool{false, true} {
		f := newRuntime(t, oneAgent, scripted(func(context.Context, model.Request, func(model.Chunk)) (model.Response, error) {
			return model.Response{Truncated: truncated, Model: "test/model"}, nil
		}))
		res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "q"))
		if res.State != task.Failed || !strings.Contains(res.Err.Error(), "empty answer") || strings.Contains(res.Err.Error(), "max_tokens") != truncated {
			t.Errorf("truncated %v: got %+v", truncated, res)
		}
	}
}

// call is a response that asks for tools: name and arguments by turns.
func call(pairs ...string) (model.Response, error) {
	var r model.Response
	for i := 0; i < len(pairs); i += 2 {
		r.ToolCalls = append(r.ToolCalls, session.ToolCall{ID: fmt.Sprint("c", i), Name: pairs[i], Arguments: json.RawMessage(pairs[i+1])})
	}
	return r, nil
}

type testTool struct {
	name string
	run  func(context.Context, tool.Call) (tool.Result, error)
}

func (t testTool) Spec() tool.Spec {
	return tool.Spec{Name: t.name, InputSchema: json.RawMessage(`{}`)}
}
func (t testTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return t.run(ctx, c)
}

func TestToolsRunInParallelAndAnswerInOrder(t *testing.T) {
	meet := make(chan struct{})
	meeting := func(text string) func(context.Context, tool.Call) (tool.Result, error) {
		return func(context.Context, tool.Call) (tool.Result, error) {
			select { // only possible when both run at the same time
			case meet <- struct{}{}:
			case <-meet:
			}
			return tool.Result{Text: text}, nil
		}
	}
	var second []model.Message
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if len(req.Messages) == 1 {
			return call("a", `{"x":1}`, "b", `{}`, "nosuch", `{}`)
		}
		second = req.Messages
		return says("done", emit)
	}), testTool{"a", meeting("A")}, testTool{"b", meeting("B")})
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "go")
	if res := result(t, turn); res.Text != "done" {
		t.Fatalf("result: got %+v", res)
	}
	if len(second) != 5 || second[2].Text != "A" || second[3].Text != "B" || !second[4].ToolError || second[4].ToolName != "nosuch" {
		t.Errorf("second request: got %+v", second)
	}
	want := "user: go\nassistant:  [a{\"x\":1}] [b{}] [nosuch{}]\ntool: A\ntool: B\ntool: There is no tool \"nosuch\". Use only the tools that are offered.\nassistant: done"
	if got := history(t, f, key); got != want {
		t.Errorf("history:\ngot  %q\nwant %q", got, want)
	}
	if k, _ := f.store.Task(turn.TaskID()); k.ToolCount != 3 || k.IterationCount != 2 {
		t.Errorf("counts: got %d tools, %d steps; want 3, 2", k.ToolCount, k.IterationCount)
	}
}

func TestToolFailuresReachTheModel(t *testing.T) {
	var texts []string
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if len(req.Messages) == 1 {
			return call("panics", `{}`, "fails", `{}`)
		}
		for _, m := range req.Messages[2:] {
			texts = append(texts, fmt.Sprint(m.Text, m.ToolError))
		}
		return says("ok", emit)
	}),
		testTool{"panics", func(context.Context, tool.Call) (tool.Result, error) { panic("inside") }},
		testTool{"fails", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("no disk") }})
	result(t, f.start(t, session.NewKey(session.ChannelMCP), "go"))
	want := "[The tool panics failed because of an internal error.true The tool fails failed: no disktrue]"
	if got := fmt.Sprint(texts); got != want {
		t.Errorf("tool results:\ngot  %s\nwant %s", got, want)
	}
}

func TestBrokenArgumentsReachTheModelNotTheTool(t *testing.T) {
	var told model.Message
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if len(req.Messages) == 1 {
			return call("a", `{"_raw_arguments":"{x:"}`)
		}
		told = req.Messages[2]
		return says("ok", emit)
	}), testTool{"a", func(context.Context, tool.Call) (tool.Result, error) {
		t.Error("the tool ran with broken arguments")
		return tool.Result{}, nil
	}})
	result(t, f.start(t, session.NewKey(session.ChannelMCP), "go"))
	if !told.ToolError || !strings.Contains(told.Text, "{x:") {
		t.Errorf("what the model was told: got %+v", told)
	}
}

func TestToolThatIgnoresTheEndDoesNotHoldUpTheChat(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if last(req) == "hang" {
			return call("deaf", `{}`)
		}
		return says("ok", emit)
	}), testTool{"deaf", func(context.Context, tool.Call) (tool.Result, error) {
		close(inside)
		<-release
		return tool.Result{}, nil
	}})
	key := session.NewKey(session.ChannelMCP)
	turn := f.start(t, key, "hang")
	<-inside
	turn.Abort()
	if res := result(t, turn); res.State != task.Stopped {
		t.Errorf("state: got %s, want stopped", res.State)
	}
	if res := result(t, f.start(t, key, "next")); res.Text != "ok" {
		t.Errorf("next turn: got %+v", res)
	}
}

func TestLoopsEnd(t *testing.T) {
	n := 0
	for _, c := range []struct {
		name, class string
		args        func() string
	}{
		{"same call", ClassLoop, func() string { return `{}` }},
		{"ever new calls", ClassMaxIterations, func() string { n++; return fmt.Sprintf(`{"n":%d}`, n) }},
	} {
		f := newRuntime(t, oneAgent, scripted(func(context.Context, model.Request, func(model.Chunk)) (model.Response, error) {
			return call("again", c.args())
		}), testTool{"again", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "same"}, nil }})
		turn := f.start(t, session.NewKey(session.ChannelMCP), "go")
		res := result(t, turn)
		k, _ := f.store.Task(turn.TaskID())
		if res.State != task.Failed || k.ErrorClass != c.class {
			t.Errorf("%s: got %s, class %q; want error, %q", c.name, res.State, k.ErrorClass, c.class)
		}
	}
}

// An answer that cannot be stored is handed out all the same, with a sentence that says what is missing.
func TestAnswerThatCannotBeStored(t *testing.T) {
	var f *fixture
	f = newRuntime(t, oneAgent, scripted(func(_ context.Context, _ model.Request, emit func(model.Chunk)) (model.Response, error) {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
		return says("the answer", emit)
	}))
	res := result(t, f.start(t, session.NewKey(session.ChannelMCP), "q"))
	if res.State != task.Failed || res.Text != "the answer" || !Complete(res.Err) || !strings.Contains(res.Err.Error(), "could not be stored") {
		t.Errorf("got %+v, want the answer and why it is not stored", res)
	}
	if running, waiting := f.Counts(); running != 0 || waiting != 0 {
		t.Errorf("afterwards: got %d running and %d waiting, want none", running, waiting)
	}
}

// Whoever is not asked waits without a clock: the silence of others is not the waiting turn's.
func TestWaitingIsNotSilence(t *testing.T) {
	gate := make(chan struct{})
	f := newRuntime(t, oneAgent, scripted(func(_ context.Context, req model.Request, emit func(model.Chunk)) (model.Response, error) {
		if last(req) == "long" {
			for {
				select {
				case <-gate:
					return says("long answer", emit)
				case <-time.After(10 * time.Millisecond):
					emit(model.Chunk{}) // bytes of the model, no text
				}
			}
		}
		return says("short answer", emit)
	}))
	f.Idle = 100 * time.Millisecond
	key := session.NewKey(session.ChannelMCP)
	long, short := f.start(t, key, "long"), f.start(t, key, "short")
	time.AfterFunc(300*time.Millisecond, func() { close(gate) })
	for turn, want := range map[*Turn]string{long: "long answer", short: "short answer"} {
		if res := result(t, turn); res.Err != nil || res.Text != want {
			t.Errorf("got %+v, want %q", res, want)
		}
	}
}
