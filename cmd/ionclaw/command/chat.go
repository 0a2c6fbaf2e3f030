package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
	"ionclaw-tray/cmd/ionclaw/client"
)

const (
	// maxMessage bounds a message read from standard input, in bytes: the default of server.max_body.
	maxMessage = 10 << 20
	// abortTimeout bounds how long Ctrl-C waits for the program to end the turn.
	abortTimeout = 5 * time.Second
)

type chatOptions struct {
	*cli
	agent   string
	session string
}

func (c *cli) chat() *cobra.Command {
	o := &chatOptions{cli: c}
	cmd := &cobra.Command{
		Use:   "chat MESSAGE",
		Short: "Say something to an agent and print its answer as it is written",
		Long: `Say something to an agent and print its answer as it is written. MESSAGE "-" reads standard input.

Without --session a new chat begins. Ctrl-C aborts the turn.`,
		Example: `  ionclaw chat "What can you do?"
  git diff | ionclaw chat --agent reviewer -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("MESSAGE is missing")
			}
			return nil
		},
		// Words without quotes are one message too.
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), strings.Join(args, " ")) },
	}
	cmd.Flags().StringVar(&o.agent, "agent", "", "`name` of the agent that answers (default: the best fit is chosen)")
	cmd.Flags().StringVar(&o.session, "session", "", "`key` of the chat to continue")
	_ = cmd.RegisterFlagCompletionFunc("agent", c.completeAgents) // fails only for an unknown flag
	return cmd
}

func (o *chatOptions) run(ctx context.Context, message string) error {
	key := session.NewKey(session.ChannelCLI)
	if o.session != "" {
		var err error
		if key, err = session.Parse(o.session); err != nil {
			return err
		}
	}
	if message == "-" {
		var err error
		if message, err = readAll(o.In, maxMessage, "the message"); err != nil {
			return err
		}
	}
	running, err := o.running(ctx)
	if err != nil {
		return err
	}
	return o.follow(ctx, running, key, client.Message{Text: message, Agent: o.agent, Channel: session.ChannelCLI})
}

// follow prints a turn as it happens.
func (o *chatOptions) follow(ctx context.Context, running *client.Client, key session.Key, m client.Message) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals, stop := o.Signals()
	defer stop()
	accepted := make(chan string, 1)
	ended := make(chan struct{})
	defer close(ended)
	var interrupted atomic.Bool
	go func() {
		select {
		case <-ended:
		case <-signals:
			interrupted.Store(true)
			o.abort(running, accepted, ended, signals, cancel)
		}
	}()

	out := answer{cli: o.cli}
	result, err := running.Send(ctx, key, m, client.Watcher{
		Turn: func(id string) {
			select {
			case accepted <- id:
			default: // known already
			}
		},
		Delta:  out.delta,
		Status: out.meanwhile,
		Queue:  func(n int) { out.meanwhile(fmt.Sprintf("waiting in this chat, number %d", n)) },
	})
	if err != nil {
		out.end()
		return err
	}
	out.finish(result)
	return turnError(result, interrupted.Load())
}

// errNoAbort says that the turn could not be ended in time.
var errNoAbort = &app.Error{Code: app.CodeUnavailable, Message: "interrupted; the turn may still be running", Hint: `see "ionclaw tasks list"`}

// abort ends the turn for a person who pressed Ctrl-C. The stream then ends by itself with what was received. A second
// Ctrl-C, or a program that does not react, leaves at once.
func (o *chatOptions) abort(running *client.Client, accepted <-chan string, ended <-chan struct{}, signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	ctx, stop := context.WithTimeout(context.Background(), abortTimeout)
	defer stop()
	go func() {
		select {
		case id := <-accepted:
			// Only this turn: others may wait in the same chat.
			if _, err := running.AbortTask(ctx, id); err != nil {
				cancel(errNoAbort)
			}
		case <-ctx.Done():
		}
	}()
	select {
	case <-ended:
	case <-signals:
		cancel(errNoAbort)
	case <-ctx.Done():
		cancel(errNoAbort)
	}
}

// answer prints the pieces of an answer.
type answer struct {
	*cli
	wrote   bool // a piece was printed
	newline bool // and it ended with a line break
	aside   bool // the line on the terminal says what happens meanwhile
}

func (a *answer) delta(text string) {
	if a.json || text == "" {
		return
	}
	a.clear()
	a.wrote, a.newline = true, strings.HasSuffix(text, "\n")
	if a.OutTerm {
		text = cleanText(text)
	}
	_, _ = io.WriteString(a.Out, text)
}

// asideWidth is how much of a passing line is shown, so that it stays one line.
const asideWidth = 72

// clearLine goes to the start of the line and empties it (ECMA-48: CR, EL 2).
const clearLine = "\r\x1b[2K"

// meanwhile shows a person at a terminal what happens before the next piece; that then takes its place. Others have no
// use for it.
func (a *answer) meanwhile(text string) {
	if a.json || !a.ErrTerm || a.wrote && !a.newline {
		return
	}
	if runes := []rune(cleanLine(text)); len(runes) > asideWidth {
		text = string(runes[:asideWidth]) + "…"
	} else {
		text = string(runes)
	}
	fmt.Fprint(a.Err, clearLine+text)
	a.aside = true
}

func (a *answer) clear() {
	if a.aside {
		fmt.Fprint(a.Err, clearLine)
		a.aside = false
	}
}

// end finishes the last line.
func (a *answer) end() {
	a.clear()
	if a.wrote && !a.newline {
		a.delta("\n")
	}
}

func (a *answer) finish(r client.Result) {
	if a.json {
		a.encode(a.Out, r)
		return
	}
	if !a.wrote {
		a.delta(r.Text)
	}
	a.end()
	if a.OutTerm && a.ErrTerm {
		a.note("\nContinue with: %s chat --session %s MESSAGE", a.self(), r.Session)
	}
}

// turnError is the reason why a turn did not succeed.
func turnError(r client.Result, interrupted bool) error {
	switch {
	case r.State == task.Done:
		return nil
	case r.State == task.Stopped && interrupted:
		return &app.Error{Code: app.CodeConflict, Message: "aborted"}
	case r.Error != "":
		return &app.Error{Code: app.CodeUnavailable, Message: r.Error}
	default:
		return &app.Error{Code: app.CodeUnavailable, Message: fmt.Sprintf("the turn ended as %q", r.State)}
	}
}

// readAll reads a bounded text and takes the line break off its end.
func readAll(r io.Reader, limit int, what string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, err)
	}
	if len(data) > limit {
		return "", &app.Error{Code: app.CodeTooLarge, Message: fmt.Sprintf("%s is longer than %d bytes", what, limit)}
	}
	if !utf8.Valid(data) { // JSON would silently replace what is not
		return "", &app.Error{Code: app.CodeBadRequest, Message: what + " is not UTF-8 text"}
	}
	text := strings.TrimSuffix(string(data), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
