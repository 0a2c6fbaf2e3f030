//go:build !linux

package store

func fullChild() {}
