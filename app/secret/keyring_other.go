//go:build !((dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd || darwin)

package secret

// platformProber knows nothing: the keyrings of these systems are open as long as the user is logged in, or missing.
func platformProber() prober { return blind{} }

// platformPrompts is false: these keyrings never ask.
const platformPrompts = false
