package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Limits of one request.
const (
	// silenceLimit is how long a provider may send nothing at all. Local models read a long conversation for minutes
	// before they say a word.
	silenceLimit = 10 * time.Minute
	// tailLimit is how long the end of a stream may take after the answer is complete; some servers never close it.
	tailLimit = 5 * time.Second
	// quickFailure is how fast a time-out has to be to be worth a retry.
	quickFailure = time.Minute
)

// ProviderConfig is what the configuration says about a provider, built-in values filled in.
type ProviderConfig struct {
	Name       string
	BaseURL    string
	Style      Style
	Credential string // name of the credential; "": none
	NeedsKey   bool   // a request without a key cannot work
}

// Style is a wire style.
type Style string

// The wire styles.
const (
	StyleOpenAI    Style = "openai"
	StyleAnthropic Style = "anthropic"
)

// KeyFunc reads the key of a credential.
type KeyFunc func(ctx context.Context, credential string) (string, error)

// endpoint is what both wire styles share: the key, one request with its limits, and the naming of errors.
type endpoint struct {
	cfg     ProviderConfig
	keys    KeyFunc
	log     *slog.Logger
	client  *http.Client
	silence time.Duration
	quirks  quirks
}

func newEndpoint(cfg ProviderConfig, keys KeyFunc, log *slog.Logger) *endpoint {
	return &endpoint{cfg: cfg, keys: keys, log: log, client: sharedClient, silence: silenceLimit}
}

// exchange is one request and the reading of its answer. post sends it; handle gets each event and reports whether
// the answer is complete, whether the stream has to say anything more or not.
type exchange struct {
	model  string
	post   func(ctx context.Context, doer doer, into **http.Response) error
	handle func(event) (progress, error)
}

// progress is how far an answer is.
type progress int

const (
	going    progress = iota
	complete          // nothing is missing, but usage may follow
	ended             // the style's last event
)

// run performs an exchange. The error is an *Error, or ctx's cause.
func (p *endpoint) run(ctx context.Context, x exchange) error {
	began := time.Now()
	err := p.try(ctx, x)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := p.fail(x.model, err)
	e.noRetry = e.Class == Timeout && time.Since(began) > quickFailure
	return e
}

func (p *endpoint) try(ctx context.Context, x exchange) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	key, err := p.key(ctx, x.model)
	if err != nil {
		return err
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatchdog(p.silence, cancel)
	defer watch.stop()

	var res *http.Response
	for {
		watch.start()
		err = x.post(watched, doer{p.client, key}, &res)
		watch.stop()
		// A parameter that this model does not know is left out, once.
		if r, ok := errors.AsType[*refusal](err); ok && p.quirks.learn(x.model, r) {
			continue
		}
		break
	}
	if err != nil {
		return silentOr(watched, err)
	}
	defer res.Body.Close()
	if err := streaming(res, key); err != nil {
		return err
	}
	body := &watchedReader{res.Body, watch}
	reader := newEventReader(body)
	state := going
	for state != ended {
		ev, err := reader.next()
		if err != nil {
			if state == complete {
				return nil // whatever happened to the connection, the answer is whole
			}
			if errors.Is(err, io.EOF) {
				return errUnfinished
			}
			return silentOr(watched, err)
		}
		next, err := x.handle(ev)
		if err != nil {
			if r, ok := errors.AsType[*refusal](err); ok {
				if key != "" {
					r.Message = strings.ReplaceAll(r.Message, key, "[key]")
				}
			}
			return err
		}
		if next > state {
			state = next
			watch.limit = min(watch.limit, tailLimit)
		}
	}
	drain(body, cancel)
	return nil
}

// silentOr tells the watchdog's end of a request from others.
func silentOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// streaming checks that an answer can be an event stream. Servers that name no type, or a plain one, are believed.
func streaming(res *http.Response, key string) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "application/json", "application/problem+json", "text/html":
	default:
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return err
	}
	if r := parseRefusal(body, key); r.json && has(r.text, `"error"`) {
		return r
	}
	return errNoStream
}

// key reads the provider's key; "" when it needs none.
func (p *endpoint) key(ctx context.Context, model string) (string, error) {
	missing := func(detail string, err error) error {
		return &Error{Class: Authentication, Model: p.full(model), Provider: p.cfg.Name, Err: err, detail: fmt.Sprintf("%s (model: %s)", detail, p.full(model))}
	}
	if p.cfg.Credential == "" {
		if p.cfg.NeedsKey {
			return "", missing(fmt.Sprintf("Provider '%[1]s' needs an API key, but the configuration names none. Please set a credential for it on the Settings page, or under providers.%[1]s.credential in config.yml.", p.cfg.Name), nil)
		}
		return "", nil
	}
	key, err := p.keys(ctx, p.cfg.Credential)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		p.log.Debug("reading the key of a provider", "provider", p.cfg.Name, "credential", p.cfg.Credential, "error", err)
		return "", missing(fmt.Sprintf("The API key of provider '%s' is missing or could not be read. Please check the credential '%[2]s' on the Credentials page, or set it with: ionclaw credential set %[2]s.", p.cfg.Name, p.cfg.Credential), err)
	case key == "":
		return "", missing(fmt.Sprintf("The API key of provider '%s' is empty. Please set the credential '%[2]s' on the Credentials page, or with: ionclaw credential set %[2]s.", p.cfg.Name, p.cfg.Credential), nil)
	}
	return key, nil
}

// full is the name of a model with its provider.
func (p *endpoint) full(model string) string {
	if model == "" {
		return p.cfg.Name
	}
	return p.cfg.Name + "/" + model
}

// fail names a failure for people and logs the provider's own words.
func (p *endpoint) fail(model string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	class, detail := classify(err)
	e := &Error{Class: class, Model: p.full(model), Provider: p.cfg.Name, Err: plain(err)}
	if detail != "" {
		e.detail = fmt.Sprintf(detail, p.cfg.Name, e.Model)
	}
	said := "error"
	if r, ok := errors.AsType[*refusal](err); ok {
		e.RetryAfter = r.RetryAfter
		if class == Authentication {
			r.Message, r.text = "", "" // such answers repeat parts of the key
		}
		said = "answer"
	}
	p.log.Debug("model request failed", "provider", p.cfg.Name, "model", e.Model, "class", string(class), said, e.Err)
	return e
}

// watchdog ends a request whose provider is silent for too long. It runs only while somebody waits for the provider:
// a slow reader of the answer is not the provider's fault. Used by one goroutine.
type watchdog struct {
	timer *time.Timer
	limit time.Duration
}

func newWatchdog(limit time.Duration, cancel context.CancelCauseFunc) *watchdog {
	return &watchdog{time.AfterFunc(limit, func() { cancel(errSilent) }), limit}
}

func (w *watchdog) start() { w.timer.Reset(w.limit) }
func (w *watchdog) stop()  { w.timer.Stop() }

// watchedReader reads under the eye of a watchdog.
type watchedReader struct {
	r io.Reader
	w *watchdog
}

func (r *watchedReader) Read(b []byte) (int, error) {
	r.w.start()
	defer r.w.stop()
	return r.r.Read(b)
}
