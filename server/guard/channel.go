package guard

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// stoppedRetry is how long a client is told to wait for a stopped channel.
// People start it by hand: shorter only makes clients busy.
const stoppedRetry = 5 * time.Second

// Running refuses requests with 503 while the policy says Stopped.
func Running() Check {
	return func(x *Exchange) *Denial {
		if !x.Policy.Stopped {
			return nil
		}
		return Stopped()
	}
}

// Stopped is the denial of a channel that is stopped.
func Stopped() *Denial {
	return &Denial{
		Status:     http.StatusServiceUnavailable,
		Code:       "channel_stopped",
		Message:    "the MCP channel is stopped.",
		Hint:       `Start it in IonClaw's tray menu or with "ionclaw start".`,
		RetryAfter: stoppedRetry,
	}
}

// Methods refuses methods that are not listed with 405 and an Allow header.
func Methods(allowed ...string) Check {
	allow := strings.Join(allowed, ", ")
	return func(x *Exchange) *Denial {
		if slices.Contains(allowed, x.R.Method) {
			return nil
		}
		return &Denial{
			Status:  http.StatusMethodNotAllowed,
			Code:    "method_not_allowed",
			Message: "This endpoint does not serve the method of this request; it serves " + allow + ".",
			Allow:   allow,
		}
	}
}
