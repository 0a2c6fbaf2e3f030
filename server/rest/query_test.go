package rest

import (
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"ionclaw-tray/app"
)

var fuzzParams = []param{
	{name: "limit", min: 1, max: 500, byDefault: 50},
	{name: "before", min: 1, max: 1 << 62},
	{name: "state", oneOf: []string{"done", "error"}},
	{name: "query", maxLen: 32},
}

func TestParseQuery(t *testing.T) {
	v, err := parseQuery("limit=500&query=a+b%26&state=", fuzzParams)
	if err != nil {
		t.Fatal(err)
	}
	if v.int("limit") != 500 || v.number("before") != 0 || v.text("query") != "a b&" || v.text("state") != "" {
		t.Errorf("got %+v", v)
	}
	if v, err = parseQuery("", fuzzParams); err != nil || v.int("limit") != 50 {
		t.Errorf("nothing given: got %+v, %v; want the default 50", v, err)
	}
	for _, raw := range []string{"state=DONE", "a;b", "limit=501", "limit=%zz", "Limit=1"} {
		var e *app.Error
		if _, err := parseQuery(raw, fuzzParams); !errors.As(err, &e) || e.Code != app.CodeBadRequest {
			t.Errorf("%q: got %v, want a bad_request", raw, err)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"", "limit=5", "limit=0&limit=1", "before=18446744073709551615", "query=%ff", "state=done&x", "%", "a;b", "limit=٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := parseQuery(raw, fuzzParams)
		if err != nil {
			var e *app.Error
			if !errors.As(err, &e) || e.Code != app.CodeBadRequest || !utf8.ValidString(e.Message) || len(e.Message) > 1024 {
				t.Fatalf("%q: got %v, want a short bad_request", raw, err)
			}
			return
		}
		if n := v.number("limit"); n < 1 || n > 500 {
			t.Errorf("%q: limit %d", raw, n)
		}
		if n := v.number("before"); n > 1<<62 {
			t.Errorf("%q: before %d", raw, n)
		}
		if s := v.text("state"); s != "" && !slices.Contains(fuzzParams[2].oneOf, s) {
			t.Errorf("%q: state %q", raw, s)
		}
		if s := v.text("query"); len(s) > 32 || !utf8.ValidString(s) {
			t.Errorf("%q: query %q", raw, s)
		}
		if len(v.texts) != 2 || len(v.numbers) != 2 {
			t.Errorf("%q: got %+v, want every parameter and no other", raw, v)
		}
	})
}
