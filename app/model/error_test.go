package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSentences(t *testing.T) {
	for class, want := range map[Class]string{
		HostNotFound:   "Could not connect to provider 'llama': the host was not found. Please check that the provider's base_url is correct and the service is reachable. (model: llama/local)",
		Authentication: "Authentication failed for model 'llama/local'. Please check that the API key is valid and has the required permissions.",
		ModelNotFound:  "Model 'llama/local' was not found by the provider. Please check the model name in the agent configuration.",
	} {
		if got := (&Error{Class: class, Provider: "llama", Model: "llama/local"}).Error(); got != want {
			t.Errorf("%s: got\n%q, want\n%q", class, got, want)
		}
	}
	for _, class := range []Class{HostNotFound, ConnectionRefused, Authentication, ModelNotFound, RateLimited, Billing, ContextOverflow, Timeout, Overloaded, BadRequest, Unknown} {
		e := &Error{Class: class, Provider: "acme", Model: "acme/one", Err: errors.New("RAW"), RetryAfter: 7 * time.Second}
		s := e.Error()
		if !strings.Contains(s, "acme/one") || !strings.Contains(s, "lease ") || !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ")") || strings.Contains(s, "RAW") {
			t.Errorf("%s: got %q, want the model, a next step, and nothing of the provider", class, s)
		}
		if class == RateLimited && !strings.Contains(s, "in 7s") {
			t.Errorf("got %q, want the wait named", s)
		}
	}
	for _, detail := range []string{saysProxy, saysUnreachable, saysCertificate, saysNoTLS, saysClosed, saysNoStream, saysLineTooLong, saysTooLong, saysFiltered} {
		if s := fmt.Sprintf(detail, "acme", "acme/one"); !strings.Contains(s, "'acme'") || !strings.Contains(s, "(model: acme/one)") || strings.Contains(s, "%!") {
			t.Errorf("got %q", s)
		}
	}
}
