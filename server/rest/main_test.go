package rest

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

// No handler, stream or watcher outlives its test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(tidy{m}) }

// tidy closes the connections that the tests' client keeps for later.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	code := m.M.Run()
	http.DefaultClient.CloseIdleConnections()
	return code
}
