// Package assets holds the files that are part of the program.
package assets

import _ "embed"

// StarterConfig is the commented config.yml that a newcomer starts with. It is valid; nobody changes it.
//
//go:embed config.yml
var StarterConfig []byte
