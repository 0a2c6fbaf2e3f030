package mcp

import "testing"

func TestIntegerArguments(t *testing.T) {
	rules, err := compileArguments([]byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"f":{"type":"number"},"s":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ in, want, problem string }{
		{in: `{"n":5}`, want: `{"n":5}`},
		{in: `{"n":5.0}`, want: `{"n":5}`},
		{in: `{ "s":"1.0", "n" : 5e1 ,"f":2.0}`, want: `{ "s":"1.0", "n" : 50 ,"f":2.0}`},
		{in: `{"n":1.0,"s":"x","n":2.5E+1}`, want: `{"n":1,"s":"x","n":25}`},
		{in: `{"n":null,"other":1.0}`, want: `{"n":null,"other":1.0}`},
		{in: `{"n":9223372036854775807}`, want: `{"n":9223372036854775807}`},
		{in: `{"n":9223372036854775808}`, problem: `argument "n" is out of range`},
		{in: `{"n":99999999999999999999}`, problem: `argument "n" is out of range`},
		{in: `{"n":-99999999999999999999}`, problem: `argument "n" must be at least 1`},
		{in: `{"n":1e19}`, problem: `argument "n" must be an integer, not 1e19`},
		{in: `{"n":1.5}`, problem: `argument "n" must be an integer, not 1.5`},
		{in: `{"f":99999999999999999999}`, want: `{"f":99999999999999999999}`},
	} {
		_, problem := rules.check([]byte(tc.in))
		if problem != tc.problem {
			t.Errorf("check %s: got %q, want %q", tc.in, problem, tc.problem)
		}
		if problem != "" {
			continue
		}
		if got := string(rules.plain([]byte(tc.in))); got != tc.want {
			t.Errorf("plain %s: got %s, want %s", tc.in, got, tc.want)
		}
	}
}
