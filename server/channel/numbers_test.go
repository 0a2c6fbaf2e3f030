package channel

import (
	"strings"
	"testing"
)

// Models write whole numbers with a fraction now and then, and numbers that no integer holds.
func TestNumbersOfEveryForm(t *testing.T) {
	e := open(t, t.TempDir(), offline)
	e.start(t)
	id := e.initialize(t)
	e.call(t, id, "chat", `{"message":"hi"}`)
	for _, args := range []string{`{"limit":50.0}`, `{"limit":5e1}`} {
		for _, tool := range []string{"list_tasks", "list_sessions"} {
			if res := e.call(t, id, tool, args); res.IsError {
				t.Errorf("%s %s: got %q", tool, args, res.text())
			}
		}
	}
	if res := e.call(t, id, "get_session", `{"session_id":"`+id+`","limit":2.0,"before":2.0}`); res.IsError || strings.Count(res.text(), `"role"`) != 1 {
		t.Errorf("get_session: got %v %q, want the first message", res.IsError, res.text())
	}
	if res := e.call(t, id, "get_session", `{"session_id":"`+id+`","before":99999999999999999999}`); !res.IsError || !strings.Contains(res.text(), "out of range") {
		t.Errorf("get_session before too much: got %v %q", res.IsError, res.text())
	}
}
