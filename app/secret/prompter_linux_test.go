package secret

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	prompterName  = "org.gnome.keyring.SystemPrompter"
	prompterPath  = dbus.ObjectPath("/org/gnome/keyring/Prompter")
	prompterIface = "org.gnome.keyring.internal.Prompter"
)

// prompter stands for the window in which GNOME Keyring asks for a password. It refuses, at once or when
// the test says so. It handles messages one by one, since the keyring cannot take a callback before the reply to its call.
type prompter struct {
	conn   *dbus.Conn
	refuse bool
	shown  chan func() // gets one element for each question on the screen: the button that refuses it
}

func newPrompter(configure func(*prompter)) (*prompter, error) {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return nil, err
	}
	reply, err := conn.RequestName(prompterName, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		return nil, fmt.Errorf("taking the prompter's name: %v, %w", reply, err)
	}
	p := &prompter{conn: conn, shown: make(chan func(), 8)}
	configure(p)
	messages := make(chan *dbus.Message, 64)
	conn.Eavesdrop(messages)
	go func() {
		for m := range messages {
			if m.Type == dbus.TypeMethodCall {
				p.serve(m)
			}
		}
	}()
	return p, nil
}

func (p *prompter) serve(m *dbus.Message) {
	sender, _ := m.Headers[dbus.FieldSender].Value().(string)
	member, _ := m.Headers[dbus.FieldMember].Value().(string)
	callback, _ := first[dbus.ObjectPath](m.Body)
	p.conn.Send(&dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()), dbus.FieldDestination: dbus.MakeVariant(sender),
	}}, nil)
	call := func(name string, args ...any) {
		p.conn.Object(sender, callback).Go(prompterIface+".Callback."+name, dbus.FlagNoReplyExpected, nil, args...)
	}
	switch member {
	case "BeginPrompting":
		call("PromptReady", "", map[string]dbus.Variant{}, "")
	case "PerformPrompt":
		cancel := func() { call("PromptReady", "no", map[string]dbus.Variant{}, "") }
		p.shown <- cancel
		if p.refuse {
			cancel()
		}
	case "StopPrompting":
		call("PromptDone")
	}
}

// prompt waits for a question and returns the button that refuses it.
func (p *prompter) prompt(ctx context.Context) (cancel func(), err error) {
	select {
	case cancel = <-p.shown:
		return cancel, nil
	case <-ctx.Done():
		return nil, errors.New("no prompt appeared")
	}
}

// none checks that there was no other question.
func (p *prompter) none() error {
	if n := len(p.shown); n > 0 {
		return fmt.Errorf("got %d more prompts, want one only", n)
	}
	return nil
}

// silentBus takes connections and never says a word.
func silentBus(ctx context.Context) error {
	path := filepath.Join(os.Getenv("IONCLAW_TEST_DIR"), "silent")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	if err := os.Setenv(envBus, "unix:path="+path); err != nil {
		return err
	}
	v := New(Options{})
	start := time.Now()
	_, err = v.Get(ctx, "a")
	took := time.Since(start)
	err = failure("get", err, ErrTimeout, "did not answer within 3s")
	if took < CallLimit || took > CallLimit+time.Second {
		err = errors.Join(err, fmt.Errorf("took %v, want %v", took, CallLimit))
	}
	return err
}
