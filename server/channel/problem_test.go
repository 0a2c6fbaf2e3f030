package channel

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// A channel that runs but refuses everybody is a problem that the status names, until it is mended.
func TestTokenThatCannotBeReadIsAProblem(t *testing.T) {
	e := open(t, t.TempDir(), "credentials: {mcp_token: {type: simple}}\n"+offline)
	e.start(t)
	write := func(mcp string, status int) {
		t.Helper()
		text := "channels: {mcp: {" + mcp + "}}\ncredentials: {mcp_token: {type: simple}}\n" + offline
		if err := os.WriteFile(e.paths.Config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return e.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`).status == status })
	}
	write("require_auth: true, credential: mcp_token", http.StatusServiceUnavailable)
	if got := e.app.Problems(); len(got) != 1 || got[0].About != "mcp" || !strings.Contains(got[0].Text, `credential "mcp_token"`) {
		t.Errorf("problems: got %+v, want the token's", got)
	}
	write("require_auth: false", http.StatusOK)
	if got := e.app.Problems(); len(got) != 0 {
		t.Errorf("problems without auth: got %+v", got)
	}
}
