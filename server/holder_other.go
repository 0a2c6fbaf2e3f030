//go:build !linux

package server

// findHolder knows nothing here: asking would mean running other programs.
func findHolder(int) Holder { return Holder{} }
