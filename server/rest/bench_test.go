package rest

import "testing"

// The handler is made at every start of the program.
func BenchmarkNew(b *testing.B) {
	core := newMute()
	for b.Loop() {
		New(core, testToken, nil)
	}
}
