//go:build (dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd

package secret

// platformProber asks the Secret Service; the keyring library uses it on the same systems.
func platformProber() prober { return secretService{limit: CallLimit} }

// platformPrompts is false: the prober unlocks before the library is called.
const platformPrompts = false
