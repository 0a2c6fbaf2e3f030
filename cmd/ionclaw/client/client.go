// Package client talks to the running program over its local API. The command line is its only user.
//
// Data goes one way: [Connect] reads the instance file, makes sure that the program which wrote it is the one that
// answers, and the methods then ask it one thing each. What comes back are the core's own types; a refusal comes back
// as the *app.Error that the program made. Nothing is cached and nothing is written.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ionclaw-tray/app"
)

const (
	// helloTimeout bounds the first question: a program that is alive answers it from memory.
	helloTimeout = 5 * time.Second
	// dialTimeout bounds a connection on loopback.
	dialTimeout = 3 * time.Second
	// MaxBody bounds an answer, in bytes. The longest are chats with their whole history.
	MaxBody = 256 << 20
)

// startHint is the remedy for everything that needs a running program.
const startHint = `start it with "ionclaw serve"`

// Client asks one running program. Safe for concurrent use.
type Client struct {
	base  string // "http://127.0.0.1:8080/api"
	token string
	http  *http.Client
}

// Connect finds the running program through its instance file. The error has app.CodeNotRunning if there is none:
// also when the file was left behind by a killed process, whoever has its port now.
func Connect(ctx context.Context, instanceFile string) (*Client, error) {
	return connect(ctx, instanceFile, helloTimeout)
}

func connect(ctx context.Context, instanceFile string, patience time.Duration) (*Client, error) {
	in, err := app.ReadInstance(instanceFile)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, notRunning(err)
	case err != nil:
		return nil, err
	}
	if err := onLoopback(in.BaseURL); err != nil {
		return nil, notRunning(fmt.Errorf("reading instance file %s: %w", instanceFile, err))
	}
	c := &Client{
		base:  strings.TrimSuffix(in.BaseURL, "/") + "/api",
		token: in.Token,
		http: &http.Client{
			Transport: &http.Transport{
				// No proxy, whatever the environment says: a proxy would see the token, and cannot reach this machine.
				Proxy:       nil,
				DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if err := c.hello(ctx, patience); err != nil {
		return nil, err
	}
	return c, nil
}

// hello makes sure that the address still belongs to the program that wrote the instance file. Without it a message
// could be handed to whatever took over the port of a killed process.
func (c *Client) hello(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	var answer app.MCPStatus
	err := c.do(ctx, http.MethodGet, "/channels/mcp", nil, &answer)
	var refused *app.Error
	switch {
	case err == nil && answer.Name == "mcp":
		return nil
	case err == nil:
		return notRunning(errForeign)
	case errors.Is(context.Cause(ctx), errSilent):
		return &app.Error{Code: app.CodeUnavailable, Err: err,
			Message: fmt.Sprintf("IonClaw at %s does not answer", strings.TrimSuffix(c.base, "/api")),
			Hint:    "wait a moment, or end its process and start it again"}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.Err == nil && refused.Code != app.CodeUnauthorized:
		return err // the program's own words
	}
	return notRunning(err)
}

var (
	errSilent = errors.New("no answer")
	// errForeign says that what answered does not speak the local API.
	errForeign = errors.New("not an answer of the local API")
)

func notRunning(cause error) *app.Error {
	return &app.Error{Code: app.CodeNotRunning, Message: "IonClaw is not running", Hint: startHint, Err: cause}
}

// onLoopback refuses an address to which the token must not be sent.
func onLoopback(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" {
		return fmt.Errorf("%q is not the address of a local program", base)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not on this machine", base)
	}
	return nil
}

// do asks one thing. in and out may be nil; out is filled from the answer.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in, "application/json")
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err != nil {
		return lost(ctx, err)
	}
	if len(body) > MaxBody {
		return fmt.Errorf("reading the answer: it is longer than %d MiB; ask for less with --limit", MaxBody>>20)
	}
	if res.StatusCode/100 != 2 {
		return refusal(res.StatusCode, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%w: %s: %w", errForeign, path, err)
	}
	return nil
}

// send makes a request and returns the answer with its body open. A connection that cannot be made means that nothing
// is running.
func (c *Client) send(ctx context.Context, method, path string, in any, accept string) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encoding request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("making request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", accept)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err == nil {
		return res, nil
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && ctx.Err() == nil {
		return nil, notRunning(err)
	}
	return nil, lost(ctx, err)
}

// lost words a connection that broke. The request's own text is left out: it repeats the address and nothing else.
func lost(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &app.Error{Code: app.CodeUnavailable, Message: fmt.Sprintf("the connection to IonClaw broke: %v", err),
		Hint: `see whether it still runs with "ionclaw status"`, Err: err}
}

// refusal reads the API's error format.
func refusal(status int, body []byte) error {
	var answer struct {
		Error struct {
			Code    app.Code `json:"code"`
			Message string   `json:"message"`
			Hint    string   `json:"hint"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Message == "" {
		return fmt.Errorf("%w: HTTP status %d", errForeign, status)
	}
	return &app.Error{Code: answer.Error.Code, Message: answer.Error.Message, Hint: answer.Error.Hint}
}
