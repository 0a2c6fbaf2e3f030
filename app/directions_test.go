package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// The house rules of who may import whom. They are written with paths below
// the module ("app/...": the package and all below it) or with full import
// paths of others, and hold for packages that do not exist yet.
const (
	fyne    = "fyne.io/..."
	fyneApp = "fyne.io/fyne/v2/app"
	chi     = "github.com/go-chi/chi/..."
)

type direction struct {
	from   []string // packages the rule is about
	except []string // packages below from that it is not about
	never  []string // what they never depend on, directly or through others
	why    string
}

var directions = []direction{
	{
		from: []string{"app/..."}, never: []string{"server/...", "ui/...", "cmd/...", fyne, chi},
		why: "the core serves every face and knows none of them",
	},
	{
		from: []string{"server/..."}, never: []string{"ui/...", "cmd/...", fyne},
		why: "the server runs where there is no display",
	},
	{
		from: []string{"ui/..."}, never: []string{"server/...", "cmd/...", fyneApp},
		why: "the windows talk to the core, and fyne/v2/app needs cgo and libGL",
	},
	{
		from: []string{"..."}, except: []string{"cmd/ionclaw-tray"}, never: []string{fyneApp},
		why: "a binary that links it does not start where libGL is missing",
	},
	{
		from: []string{"cmd/ionclaw", "cmd/ionclaw/..."}, never: []string{fyne, "ui/..."},
		why: "the headless program is built without cgo",
	},
	{
		from: []string{
			"app/config/...", "app/secret/...", "app/store/...", "app/session/...", "app/task/...",
			"app/model/...", "app/event/...", "app/connect/...", "app/mesh/...",
		},
		never: []string{"app", "app/agent/..."},
		why:   "leaves of the core do not know what is built from them",
	},
	{
		from: []string{"server/mcp/..."}, never: []string{"app", "app/..."},
		why: "the protocol knows tools and resources only as interfaces",
	},
	{
		from: []string{"assets/..."}, never: []string{"app/...", "server/...", "ui/...", "cmd/..."},
		why: "assets are data",
	},
}

// goPackage is what "go list -json" tells about a package.
type goPackage struct {
	ImportPath string
	Deps       []string
}

// violations checks packages (those of the module, with all their
// dependencies) against the rules.
func violations(module string, packages []goPackage) []string {
	var found []string
	for _, p := range packages {
		name, own := local(module, p.ImportPath)
		if !own {
			continue
		}
		for _, d := range directions {
			if !matchesAny(d.from, name) || matchesAny(d.except, name) {
				continue
			}
			for _, dep := range p.Deps {
				target := dep
				if t, ours := local(module, dep); ours {
					target = t
				}
				if target != name && matchesAny(d.never, target) && !below(d.from, name, target) {
					found = append(found, fmt.Sprintf("%s depends on %s: %s", name, target, d.why))
				}
			}
		}
		switch path.Base(name) {
		case "util", "utils", "common", "helper", "helpers", "types", "manager":
			found = append(found, name+": a package is named after what it holds")
		}
	}
	slices.Sort(found)
	return found
}

// below tells that both packages belong to the same entry of a rule, so that
// "cmd/..." may use what is below it.
func below(from []string, name, target string) bool {
	for _, f := range from {
		if f != "..." && matches(f, name) && matches(f, target) {
			return true
		}
	}
	return false
}

// local strips the module from an import path.
func local(module, importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func matches(pattern, name string) bool {
	prefix, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return pattern == name
	}
	return strings.HasPrefix(name+"/", prefix)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func TestDirections(t *testing.T) {
	module := strings.TrimSpace(string(goCommand(t, "list", "-m")))
	var packages []goPackage
	list := json.NewDecoder(strings.NewReader(string(goCommand(t, "list", "-e", "-json=ImportPath,Deps", "./..."))))
	for {
		var p goPackage
		err := list.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		packages = append(packages, p)
	}
	if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.ImportPath == module+"/app" && len(p.Deps) > 0 }) {
		t.Fatalf("the list of %d packages lacks app", len(packages))
	}
	for _, v := range violations(module, packages) {
		t.Error(v)
	}
}

// The checker itself: one forbidden import each, and what is allowed.
func TestDirectionRules(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		allowed  bool
	}{
		{"app", "m/app/store", true},
		{"app/agent", "m/app/model", true},
		{"app/agent", "m/app/agent/queue", true},
		{"app/model/offline", "m/app/model", true},
		{"app/config", "m/assets", true},
		{"server", "m/app", true},
		{"server/mcp", "m/server/mcp/conformance", true},
		{"server/rest", "github.com/go-chi/chi/v5", true},
		{"server/channel", "m/server/mcp", true},
		{"ui/page/chat", "m/app", true},
		{"ui/page/chat", "fyne.io/fyne/v2/widget", true},
		{"cmd/ionclaw", "m/cmd/ionclaw/command", true},
		{"cmd/ionclaw", "m/server", true},
		{"cmd/ionclaw-tray", "fyne.io/fyne/v2/app", true},
		{"cmd/ionclaw-tray", "m/ui/tray", true},
		{"app/appendix", "fyne.io2/x", true},

		{"app", "m/server/rest", false},
		{"app/agent", "m/ui", false},
		{"app/agent", "m/cmd/ionclaw/command", false},
		{"app/probe", "fyne.io/systray", false},
		{"app/mesh", "github.com/go-chi/chi/v5", false},
		{"app/tool/mcpclient", "github.com/go-chi/chi/v5/middleware", false},
		{"server", "m/ui/tray", false},
		{"server/guard", "fyne.io/fyne/v2", false},
		{"server", "m/cmd/ionclaw", false},
		{"ui/tray", "m/server", false},
		{"ui", "fyne.io/fyne/v2/app", false},
		{"ui/tray/traytest", "fyne.io/fyne/v2/app", false},
		{"cmd/other", "fyne.io/fyne/v2/app", false},
		{"cmd/ionclaw", "fyne.io/fyne/v2", false},
		{"cmd/ionclaw/command", "m/ui/tray", false},
		{"app/config", "m/app", false},
		{"app/store", "m/app/agent", false},
		{"app/connect/vscode", "m/app", false},
		{"app/mesh", "m/app/agent/queue", false},
		{"server/mcp", "m/app/session", false},
		{"server/mcp/conformance", "m/app", false},
		{"assets", "m/app/config", false},
	} {
		got := violations("m", []goPackage{{ImportPath: "m/" + tc.from, Deps: []string{"fmt", tc.to}}})
		if (len(got) == 0) != tc.allowed {
			t.Errorf("%s importing %s: got %q, want allowed %v", tc.from, tc.to, got, tc.allowed)
		}
	}
	if got := violations("m", []goPackage{{ImportPath: "m/app/util"}, {ImportPath: "m/server/types"}}); len(got) != 2 {
		t.Errorf("empty names: got %q, want two violations", got)
	}
}

// goCommand runs the go command in the module's folder.
func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}
