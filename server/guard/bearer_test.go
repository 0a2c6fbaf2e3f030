package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestBearer(t *testing.T) {
	oldAndNew := &Policy{Accept: []Digest{DigestOf("old-key"), DigestOf("new-key\n")}}
	unexpandedText, wrongText := "did not expand the variable", "not the one this server expects"
	for _, tc := range []struct {
		name   string
		header []string
		status int
		text   string // part of the message
	}{
		{"old", []string{"Bearer old-key"}, 200, ""},
		{"new", []string{"Bearer new-key"}, 200, ""},
		{"scheme in capitals", []string{"BEARER new-key"}, 200, ""},
		{"more spaces", []string{"  bearer   new-key  "}, 200, ""},

		{"missing", nil, 401, "no Authorization header"},
		{"empty", []string{""}, 401, "form"},
		{"twice", []string{"Bearer old-key", "Bearer old-key"}, 401, "more than one"},
		{"other scheme", []string{"Basic b2xkLWtleQ=="}, 401, "form"},
		{"bare token", []string{"old-key"}, 401, "form"},
		{"no token", []string{"Bearer"}, 401, "not set"},
		{"only spaces", []string{"Bearer   "}, 401, "not set"},
		{"wrong, same length", []string{"Bearer old-kez"}, 401, wrongText},
		{"wrong, shorter", []string{"Bearer old"}, 401, wrongText},
		{"wrong, longer", []string{"Bearer old-key-and-more"}, 401, wrongText},
		{"hash instead of the token", []string{"Bearer " + DigestOf("old-key").String()}, 401, wrongText},
		{"case differs", []string{"Bearer OLD-KEY"}, 401, wrongText},
		{"two tokens", []string{"Bearer old-key new-key"}, 401, wrongText},
		{"huge", []string{"Bearer " + strings.Repeat("x", maxToken)}, 401, "longer than any"},

		{"${VAR}", []string{"Bearer ${IONCLAW_TOKEN}"}, 401, unexpandedText},
		{"${VAR:-}", []string{"Bearer ${IONCLAW_TOKEN:-}"}, 401, unexpandedText},
		{"${env:VAR}", []string{"Bearer ${env:IONCLAW_TOKEN}"}, 401, unexpandedText},
		{"${input:id}", []string{"Bearer ${input:the token}"}, 401, unexpandedText},
		{"$VAR", []string{"Bearer $IONCLAW_TOKEN"}, 401, unexpandedText},
		{"$env:VAR", []string{"Bearer $env:IONCLAW_TOKEN"}, 401, unexpandedText},
		{"{env:VAR}", []string{"Bearer {env:IONCLAW_TOKEN}"}, 401, unexpandedText},
		{"{{VAR}}", []string{"Bearer {{IONCLAW_TOKEN}}"}, 401, unexpandedText},
		{"%VAR%", []string{"Bearer %IONCLAW_TOKEN%"}, 401, unexpandedText},
		{"whole header", []string{"${IONCLAW_AUTH}"}, 401, unexpandedText},
		{"dollar inside", []string{"Bearer a$b"}, 401, wrongText},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := serve(t, oldAndNew, http.MethodPost, func(r *http.Request) { r.Header["Authorization"] = tc.header })
			if rec.Code != tc.status || !strings.Contains(rec.Body.String(), tc.text) {
				t.Fatalf("got %d %s, want %d with %q", rec.Code, rec.Body, tc.status, tc.text)
			}
			if tc.status != 401 {
				return
			}
			if got, want := rec.Header().Get("WWW-Authenticate"), `Bearer realm="ionclaw"`; got != want {
				t.Errorf("WWW-Authenticate: got %q, want %q", got, want)
			}
			if !strings.Contains(rec.Body.String(), "IonClaw → Connect") {
				t.Errorf("the body does not say what to do: %s", rec.Body)
			}
			for _, h := range tc.header {
				if _, token, ok := strings.Cut(h, " "); ok && len(token) > 3 && token != "${IONCLAW_TOKEN}" &&
					strings.Contains(rec.Body.String(), token) {
					t.Errorf("the body repeats what was sent: %s", rec.Body)
				}
			}
		})
	}
}

// A key that happens to look like a variable still opens the door.
func TestBearerKeyThatLooksLikeAVariable(t *testing.T) {
	rec := serve(t, &Policy{Accept: []Digest{DigestOf("$ecret")}}, http.MethodPost, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer $ecret")
	})
	if rec.Code != 200 {
		t.Errorf("got %d %s, want 200", rec.Code, rec.Body)
	}
}

func TestCredentialInContext(t *testing.T) {
	sum := sha256.Sum256([]byte("second"))
	for _, tc := range []struct {
		name   string
		policy *Policy
		want   string
	}{
		{"token", &Policy{Accept: []Digest{DigestOf("first"), DigestOf("second")}}, hex.EncodeToString(sum[:])},
		{"anonymous", &Policy{Anonymous: true}, ""},
	} {
		got := "handler not reached"
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/mcp", nil)
		r.Header.Set("Authorization", "Bearer second")
		New(func() *Policy { return tc.policy }, DenyRPC, Bearer())(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = Credential(r.Context())
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestUnusableCredentialNeverOpens(t *testing.T) {
	for name, p := range map[string]*Policy{
		"locked":               {CredentialErr: errors.New("the keyring is locked")},
		"locked, stale digest": {CredentialErr: errors.New("the keyring is locked"), Accept: []Digest{DigestOf("k")}},
		"none":                 {},
		"nil":                  nil,
		"zero digest":          {Accept: []Digest{{}}},
		"digest of nothing":    {Accept: []Digest{DigestOf("")}},
	} {
		for _, header := range []string{"", "Bearer ", "Bearer k", "Bearer \x00"} {
			rec := serve(t, p, http.MethodPost, func(r *http.Request) {
				if header != "" {
					r.Header.Set("Authorization", header)
				}
			})
			if rec.Code != 503 && rec.Code != 401 {
				t.Errorf("%s with %q: got %d, want 503 or 401", name, header, rec.Code)
			}
			if strings.HasPrefix(name, "locked") && (rec.Code != 503 || !strings.Contains(rec.Body.String(), "keyring is locked") ||
				rec.Header().Get("Retry-After") == "") {
				t.Errorf("%s: got %d %v %s, want 503 with the reason and Retry-After", name, rec.Code, rec.Header(), rec.Body)
			}
		}
	}
}

// readCounter fails the test when a body is read that should not be.
type readCounter struct{ reads int }

func (b *readCounter) Read([]byte) (int, error) { b.reads++; return 0, io.EOF }

func TestBearerBeforeBody(t *testing.T) {
	body := &readCounter{}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", body)
	rec := httptest.NewRecorder()
	MCP(func() *Policy { return &Policy{Accept: []Digest{DigestOf("k")}, MaxBody: 1} })(http.NotFoundHandler()).ServeHTTP(rec, r)
	if rec.Code != 401 || body.reads != 0 {
		t.Errorf("got %d after %d reads of the body, want 401 after none", rec.Code, body.reads)
	}
}

func TestDenialFormats(t *testing.T) {
	d := &Denial{Status: 503, Code: "x", Message: "What & why.", Hint: "Do <this>.", RetryAfter: 1}
	rec := httptest.NewRecorder()
	DenyRPC(rec, nil, d)
	var rpc struct {
		JSONRPC string
		ID      json.RawMessage
		Error   struct {
			Code    int
			Message string
			Data    struct{ Reason, Hint string }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &rpc); err != nil {
		t.Fatal(err)
	}
	if rpc.JSONRPC != "2.0" || string(rpc.ID) != "null" || rpc.Error.Code != DenialCode ||
		rpc.Error.Message != "What & why. Do <this>." || rpc.Error.Data.Reason != "x" || rpc.Error.Data.Hint != d.Hint {
		t.Errorf("JSON-RPC denial: %s", rec.Body)
	}
	if got := rec.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After of a nanosecond: got %q, want 1", got)
	}
	rec = httptest.NewRecorder()
	DenyAPI(rec, nil, d)
	if got, want := rec.Body.String(), `{"error":{"code":"x","message":"What & why.","hint":"Do <this>."}}`+"\n"; got != want {
		t.Errorf("API denial: got %s, want %s", got, want)
	}
	if got := rec.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type: got %q", got)
	}
}

// The code may not be one that clients give a meaning of their own.
func TestDenialCodeIsOutsideReservedRanges(t *testing.T) {
	if DenialCode >= -32768 && DenialCode <= -32000 {
		t.Errorf("DenialCode %d is reserved by JSON-RPC", DenialCode)
	}
}

// The token is read only for a request that has come as far as that; what the reading says counts, not an old digest.
func TestTokensAreAskedForLast(t *testing.T) {
	for _, tc := range []struct {
		name, method string
		edit         func(*http.Request)
		tokens       []Digest
		err          error
		want, asked  int
	}{
		{"preflight", http.MethodOptions, nil, nil, nil, 204, 0},
		{"method", http.MethodPut, nil, nil, nil, 405, 0},
		{"right", http.MethodPost, nil, []Digest{DigestOf("k")}, nil, 200, 1},
		{"wrong", http.MethodPost, nil, []Digest{DigestOf("other")}, nil, 401, 1},
		{"none", http.MethodPost, nil, nil, nil, 503, 1},
		{"unreadable", http.MethodPost, nil, nil, errors.New("the keyring is locked"), 503, 1},
		{"no header", http.MethodPost, func(r *http.Request) { r.Header.Del("Authorization") }, []Digest{DigestOf("k")}, nil, 401, 1},
	} {
		asked := 0
		p := &Policy{Accept: []Digest{DigestOf("k")}, Tokens: func(context.Context) ([]Digest, error) {
			asked++
			return tc.tokens, tc.err
		}}
		rec := serve(t, p, tc.method, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer k")
			if tc.edit != nil {
				tc.edit(r)
			}
		})
		if rec.Code != tc.want || asked != tc.asked {
			t.Errorf("%s: got %d after %d readings, want %d after %d", tc.name, rec.Code, asked, tc.want, tc.asked)
		}
	}
}
