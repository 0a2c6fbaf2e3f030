// Command ionclaw is the headless server and the command line of IonClaw. It is built without cgo and knows no
// desktop.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"ionclaw-tray/cmd/ionclaw/command"
)

// version is set when a release is built.
var version string

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], command.RealSystem(programVersion())))
}

// programVersion falls back to what the Go tool knows about the build.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
