package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refusal is what a provider answered instead of an answer: a status with a body, or an error event in the stream.
type refusal struct {
	Status     int // 0: an error event without one
	Type       string
	Code       string
	Param      string
	Message    string // the provider's own words, without the key
	RetryAfter time.Duration

	json bool   // the body was JSON, so it comes from an API and not from something in between
	text string // the whole body in lower case, for looking up words
}

// Error is for the log only.
func (r *refusal) Error() string {
	return fmt.Sprintf("status %d, type %q, code %q: %s", r.Status, r.Type, r.Code, r.Message)
}

// parseRefusal reads the body of a refusal. Shapes in use:
//
//	{"type":"error","error":{"type","message"}}                   Anthropic
//	{"error":{"message","type","param","code"}}                   OpenAI and most others; code may be a number
//	[{"error":{"code":404,"message","status":"NOT_FOUND"}}]       Google
//	{"code":"…","error":"…"}, {"error":"…"}                       xAI, Ollama, LM Studio
//	{"object":"error","message","type","code"}                    Mistral, vLLM, Cerebras
//	{"detail":"…"}                                                servers made with FastAPI
func parseRefusal(body []byte, key string) *refusal {
	text := string(body)
	if key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	r := &refusal{Message: text, text: strings.ToLower(text)}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return r
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return r
	}
	r.json = true
	r.take(top)
	switch inner := top["error"].(type) {
	case map[string]any:
		r.Type, r.Code = "", ""
		r.take(inner)
	case string:
		r.Message = inner
	}
	return r
}

func (r *refusal) take(m map[string]any) {
	if s := word(m["type"]); s != "" {
		r.Type = s
	}
	if s := word(m["status"]); s != "" && r.Type == "" {
		r.Type = s
	}
	if s := word(m["code"]); s != "" {
		r.Code = s
		if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 && r.Status == 0 {
			r.Status = n
		}
	}
	if s := word(m["param"]); s != "" {
		r.Param = s
	}
	for _, k := range []string{"message", "detail"} {
		if s := word(m[k]); s != "" {
			r.Message = s
			return
		}
	}
}

// word is a JSON value as text: strings and numbers as they are, everything else as nothing.
func word(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return ""
}

// class decides what a refusal means, and where the sentence of the class would mislead, gives a better one with %[1]s
// for the provider and %[2]s for the model. Codes come before words, words before the status: the APIs reuse 400, 403
// and 429 for nearly everything.
func (r *refusal) class() (Class, string) {
	kind := strings.ToLower(r.Type + " " + r.Code)
	quota := strings.Contains(kind, "resource_exhausted") // Google words rate limits like an empty account
	switch {
	case r.Status == http.StatusPaymentRequired, has(kind, "insufficient_quota", "billing", "insufficient_balance", "insufficient_credits"),
		!quota && has(r.text, "credit balance", "insufficient balance", "insufficient credit", "insufficient_quota", "exceeded your current quota", "billing hard limit", "billing_not_active"):
		return Billing, ""
	case has(kind, "context_length_exceeded", "exceed_context_size", "request_too_large"), r.Status == http.StatusRequestEntityTooLarge,
		r.Status != http.StatusTooManyRequests && has(r.text, "context length", "context_length", "context window", "context size", "maximum context", "prompt is too long", "input is too long", "too many tokens", "input token count", "reduce the length of"):
		return ContextOverflow, ""
	case has(kind, "model_not_found", "invalid_model", "model_not_exist"), r.namesMissingModel():
		return ModelNotFound, ""
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, has(kind, "authentication_error", "permission_error", "permission_denied", "invalid_api_key", "unauthenticated"),
		has(r.text, "api key not valid", "api_key_invalid", "incorrect api key", "invalid api key"):
		return Authentication, ""
	case r.Status == http.StatusProxyAuthRequired:
		return Unknown, "The proxy between this computer and provider '%[1]s' asks for a sign-in. Please check HTTP_PROXY and HTTPS_PROXY. (model: %[2]s)"
	case r.Status == http.StatusNotFound:
		return BadRequest, "Provider '%[1]s' has no model API at its base_url. Please check the path of base_url; for most servers it ends in /v1. (model: %[2]s)"
	case r.Status == http.StatusTooManyRequests, quota, has(kind, "rate_limit", "too_many_requests"):
		return RateLimited, ""
	case r.Status == http.StatusRequestTimeout, r.Status == http.StatusGatewayTimeout, has(kind, "timeout", "deadline_exceeded"):
		return Timeout, ""
	case r.Status >= 500, has(kind, "overloaded", "api_error", "server_error", "unavailable", "internal"):
		return Overloaded, ""
	case r.Status >= 400, has(kind, "invalid_request", "invalid_argument", "badrequest"):
		return BadRequest, ""
	case r.Status >= 300:
		return BadRequest, "Provider '%[1]s' redirects requests to another address. Please set its base_url to the final address. (model: %[2]s)"
	}
	return Unknown, ""
}

// namesMissingModel looks for the many ways to say that there is no such model.
func (r *refusal) namesMissingModel() bool {
	switch r.Status {
	case 0, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return false
	}
	if !r.json || !strings.Contains(r.text, "model") {
		return false
	}
	return r.Status == http.StatusNotFound || has(r.text, "model not found", "not a valid model", "invalid model", "unknown model", "no such model",
		"model not exist", "no models loaded", "model does not exist", "does not exist or you do not have access", "is not found for api version") ||
		(strings.Contains(r.text, "model") && has(r.text, "does not exist", "was not found"))
}

func has(s string, any ...string) bool {
	for _, a := range any {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

// retryAfter reads how long a provider asks to wait: Retry-After-Ms, or Retry-After in seconds or as a date
// (RFC 9110, section 10.2.3). 0: not said, or already over.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// seconds converts without overflow; a day stands for everything longer, and for infinity.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	if s != s { // not a number
		return 0
	}
	return time.Duration(min(s, day) * float64(time.Second))
}
