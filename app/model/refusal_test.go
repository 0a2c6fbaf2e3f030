package model

import (
	"net/http"
	"testing"
	"time"
)

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   Class
	}{
		{"anthropic key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, Authentication},
		{"anthropic permission", 403, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, Authentication},
		{"anthropic model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, ModelNotFound},
		{"anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, Billing},
		{"anthropic billing", 402, `{"type":"error","error":{"type":"billing_error","message":"x"}}`, Billing},
		{"anthropic too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ContextOverflow},
		{"anthropic too large", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, ContextOverflow},
		{"anthropic rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, RateLimited},
		{"anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
		{"anthropic internal", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, Overloaded},
		{"anthropic bad", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}`, BadRequest},
		{"openai key", 401, `{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, Authentication},
		{"openai model", 404, `{"error":{"message":"The model 'gpt-9' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, ModelNotFound},
		{"openai model of a project", 403, `{"error":{"message":"Project x does not have access to model gpt-4","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, ModelNotFound},
		{"openai quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, Billing},
		{"openai rate", 429, `{"error":{"message":"Rate limit reached for gpt-4 in organization x on tokens per min. Limit: 10000","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, RateLimited},
		{"openai context", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, ContextOverflow},
		{"openai server", 500, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, Overloaded},
		{"openai country", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`, Authentication},
		{"google key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, Authentication},
		{"google model", 404, `[{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1main","status":"NOT_FOUND"}}]`, ModelNotFound},
		{"google rate", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]`, RateLimited},
		{"google overloaded", 503, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, Overloaded},
		{"google context", 400, `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, ContextOverflow},
		{"xai key", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***x."}`, Authentication},
		{"xai model", 404, `{"code":"Some requested entity was not found","error":"The model grok-9 does not exist or your team x does not have access to it."}`, ModelNotFound},
		{"mistral model", 400, `{"object":"error","message":"Invalid model: mistral-9","type":"invalid_model","param":null,"code":"1500"}`, ModelNotFound},
		{"mistral key", 401, `{"detail":"Unauthorized"}`, Authentication},
		{"deepseek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, Billing},
		{"deepseek model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, ModelNotFound},
		{"openrouter model", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400},"user_id":"u"}`, ModelNotFound},
		{"openrouter credit", 402, `{"error":{"message":"Insufficient credits. Add more","code":402}}`, Billing},
		{"openrouter no endpoint", 404, `{"error":{"message":"No endpoints found for foo/bar model.","code":404}}`, ModelNotFound},
		{"cerebras model", 404, `{"message":"Model x does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"}`, ModelNotFound},
		{"ollama model", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, ModelNotFound},
		{"llama.cpp loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, Overloaded},
		{"llama.cpp context", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`, ContextOverflow},
		{"vllm context", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`, ContextOverflow},
		{"vllm model", 404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`, ModelNotFound},
		{"lm studio", 400, `{"error":"No models loaded. Please load a model in the developer page."}`, ModelNotFound},
		{"wrong path", 404, "404 page not found\n", BadRequest},
		{"wrong path, html", 404, "<html><title>404</title>the model agency</html>", BadRequest},
		{"gateway", 502, "<html>Bad Gateway</html>", Overloaded},
		{"gateway time-out", 504, "", Timeout},
		{"request time-out", 408, "", Timeout},
		{"cloudflare", 524, "error code: 524", Overloaded},
		{"rate, plain", 429, "slow down", RateLimited},
		{"unprocessable", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, BadRequest},
		{"redirect", 307, "", BadRequest},
		{"proxy", 407, "", Unknown},
		{"teapot", 418, `"text"`, BadRequest},
		{"null", 400, `null`, BadRequest},
		{"empty list", 400, `[]`, BadRequest},
		{"event without a type", 0, `{"error":{"message":"boom"}}`, Unknown},
		{"event with a code", 0, `{"error":{"message":"Provider returned error","code":429}}`, RateLimited},
		{"event overloaded", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
	} {
		r := parseRefusal([]byte(c.body), "")
		if c.status != 0 {
			r.Status = c.status
		}
		if got, _ := r.class(); got != c.want {
			t.Errorf("%s: got %s, want %s (read as %v)", c.name, got, c.want, r)
		}
	}
}

func TestParseRefusal(t *testing.T) {
	r := parseRefusal([]byte(`{"error":{"message":"bad key SECRET-KEY-1, really","type":"t","param":"p","code":"c"}}`), "SECRET-KEY-1")
	if r.Message != "bad key [key], really" || r.Type != "t" || r.Param != "p" || r.Code != "c" {
		t.Errorf("got %+v", r)
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add(`{"error":{"message":"x","code":404}}`)
	f.Add(`[{"error":"x"}]`)
	f.Fuzz(func(t *testing.T, body string) {
		if c, _ := parseRefusal([]byte(body), "k").class(); c == "" {
			t.Errorf("%q has no class", body)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "-7", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After-Ms", "x", 0},
	} {
		if got := retryAfter(http.Header{c.key: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s: got %v, want %v", c.key, c.value, got, c.want)
		}
	}
}
