package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retries of one model.
const (
	// maxRetries is how often a request that failed for a passing reason is sent again.
	maxRetries = 2
	// firstPause is the wait before the first retry; it doubles each time. A quarter is taken off or added by chance,
	// so that many waiting requests do not come back at the same moment.
	firstPause = 500 * time.Millisecond
	// longestPause is the longest wait that a provider may ask for. If it asks for more, the model counts as failed.
	longestPause = 30 * time.Second
)

// pauses decides how long to wait before a retry.
type pauses func(retry int, asked time.Duration) time.Duration

func defaultPauses(retry int, asked time.Duration) time.Duration {
	if asked > 0 {
		// Never earlier than asked.
		return asked + rand.N(asked/10+time.Millisecond)
	}
	p := firstPause << (retry - 1)
	return p - p/4 + rand.N(p/2)
}

// Stream asks the first model, again up to two times if the failure is a passing one, then the others in order, each
// the same way. Once text was delivered nothing is tried again: the error comes back together with what was received.
//
// emit gets the chunks as in Provider; note, if not nil, gets what happens meanwhile in words for people. req.Model is
// ignored. When every model failed the *Error is that of the first one and names the others. When ctx ends the error
// is its cause, within milliseconds, also while waiting.
func (r *Router) Stream(ctx context.Context, models []string, req Request, emit func(Chunk), note func(text string)) (Response, error) {
	if note == nil {
		note = func(string) {}
	}
	if len(models) == 0 {
		return Response{}, &Error{Class: ModelNotFound, detail: "No model is configured for the agent. Please set agents.NAME.model in config.yml."}
	}
	var failed []*Error
	for i, full := range models {
		if i > 0 {
			note(fmt.Sprintf("%s failed (%s), falling back to %s", models[i-1], failed[i-1].Class.words(), full))
		}
		res, err := r.attempts(ctx, full, req, emit, note)
		if err == nil {
			return res.Response, nil
		}
		if ctx.Err() != nil {
			return res.Response, context.Cause(ctx)
		}
		e := asError(full, err)
		if res.delivered {
			return res.Response, e
		}
		failed = append(failed, e)
	}
	first := *failed[0]
	first.Fallbacks = failed[1:]
	return Response{}, &first
}

// attempt is a response and whether any of its text reached the caller.
type attempt struct {
	Response
	delivered bool
}

// attempts asks one model until it answers, fails for good, or delivered text.
func (r *Router) attempts(ctx context.Context, full string, req Request, emit func(Chunk), note func(string)) (attempt, error) {
	p, name, err := r.Provider(full)
	if err != nil {
		return attempt{}, err
	}
	req.Model = name
	for retry := 1; ; retry++ {
		var a attempt
		a.Response, err = p.Stream(ctx, req, func(c Chunk) {
			a.delivered = a.delivered || c.Text != ""
			if emit != nil {
				emit(c)
			}
		})
		a.Model = full
		if err == nil || ctx.Err() != nil || a.delivered {
			return a, err
		}
		e := asError(full, err)
		if retry > maxRetries || !e.Transient() || e.RetryAfter > longestPause {
			return a, err
		}
		pause := r.pause(retry, e.RetryAfter)
		r.log.Info("retrying a model", "model", full, "class", string(e.Class), "retry", retry, "pause", pause)
		note(fmt.Sprintf("%s: %s, retrying in %s", full, e.Class.words(), pause.Round(100*time.Millisecond)))
		if err := wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// wait pauses; the error is ctx's cause.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// asError is the failure of a model as *Error; providers return nothing else, so another kind is a defect of one.
func asError(full string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Class: Unknown, Model: full, Provider: full, Err: err}
}
