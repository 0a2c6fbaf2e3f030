package guard

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestJSONContentTypes(t *testing.T) {
	for _, tc := range []struct {
		types []string
		want  bool
	}{
		{[]string{"application/json"}, true},
		{[]string{"Application/JSON"}, true},
		{[]string{"application/json; charset=utf-8"}, true},
		{[]string{"application/json;charset=\"UTF-8\""}, true},
		{[]string{"application/json; charset"}, true},
		{nil, false},
		{[]string{""}, false},
		{[]string{"text/plain"}, false},
		{[]string{"text/plain; application/json"}, false},
		{[]string{"application/jsonp"}, false},
		{[]string{"application/x-www-form-urlencoded"}, false},
		{[]string{"multipart/form-data; boundary=application/json"}, false},
		{[]string{"application/json", "text/plain"}, false},
		{[]string{"application/json, text/plain"}, false},
	} {
		if got := isJSON(tc.types); got != tc.want {
			t.Errorf("Content-Type %q: JSON %v, want %v", tc.types, got, tc.want)
		}
	}
}

// post sends a body of n bytes to h behind the MCP guard with a limit of 10
// over a real connection, declared or chunked.
func post(t *testing.T, n int, chunked bool, h http.HandlerFunc) (int, string) {
	t.Helper()
	srv := httptest.NewServer(MCP(func() *Policy { return &Policy{Anonymous: true, MaxBody: 10} })(h))
	defer srv.Close()
	var body io.Reader = bytes.NewReader(make([]byte, n))
	if chunked {
		body = io.MultiReader(body) // hides the length
	}
	resp, err := srv.Client().Post(srv.URL, "application/json", body)
	if err != nil {
		t.Fatalf("posting %d bytes: %v", n, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return resp.StatusCode, string(text)
}

func TestMaxBody(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "handler saw: "+err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Read", "all")
		_, _ = w.Write(bytes.ToUpper(b))
		w.(http.Flusher).Flush()
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	flusher := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "late")
	}
	early := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot) // without reading
	}
	for _, tc := range []struct {
		name    string
		n       int
		chunked bool
		handler http.HandlerFunc
		want    int
	}{
		{"at the limit", 10, false, echo, 200},
		{"over the limit", 11, false, echo, 413},
		{"chunked at the limit", 10, true, echo, 200},
		{"chunked over the limit", 11, true, echo, 413},
		{"chunked far over the limit", 1 << 20, true, echo, 413},
		{"chunked, handler says nothing", 11, true, silent, 413},
		{"chunked, handler flushes", 11, true, flusher, 413},
		{"chunked, handler never reads", 11, true, early, 418},
		{"empty", 0, true, echo, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, text := post(t, tc.n, tc.chunked, tc.handler)
			if got != tc.want {
				t.Fatalf("got %d %s, want %d", got, text, tc.want)
			}
			if tc.want == 413 && (!strings.Contains(text, "server.max_body") || strings.Contains(text, "handler saw") ||
				strings.Contains(text, "late") || !strings.HasPrefix(text, `{"jsonrpc":"2.0","id":null,`)) {
				t.Errorf("the 413 is not a denial that names its limit: %s", text)
			}
		})
	}
}

func TestMaxBodyTellsTheHandler(t *testing.T) {
	got := make(chan error, 1)
	post(t, 11, true, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
	})
	var tooBig *http.MaxBytesError
	if err := <-got; !errors.As(err, &tooBig) || tooBig.Limit != 10 {
		t.Errorf("reading the body: got %v, want *http.MaxBytesError with limit 10", err)
	}
}

func TestDefaultMaxBody(t *testing.T) {
	for n, want := range map[int64]int{DefaultMaxBody: 200, DefaultMaxBody + 1: 413} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", http.NoBody)
		r.ContentLength = n
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		MCP(func() *Policy { return &Policy{Anonymous: true} })(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
		if rec.Code != want {
			t.Errorf("Content-Length %d: got %d, want %d", n, rec.Code, want)
		}
	}
}
