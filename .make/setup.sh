#!/bin/sh
# Installs what a make target needs and is not there yet.
#
#   .make/setup.sh run     Go
#   .make/setup.sh test    Go, a C compiler, a keyring with a session bus, Node and the conformance suite
#
# Knows Debian, Ubuntu, Fedora and macOS. Where all is there it only looks, and
# is done in a few milliseconds; package lists are fetched only when a package
# is missing. On other systems it names what is missing and stops.
set -eu

unset GOFLAGS # an old Go cannot read it
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ionclaw-tray
here=$(cd "$(dirname "$0")" && pwd)
# Any Go from here on fetches the version that go.mod asks for by itself.
oldest_go=1.21

say() { printf '%s\n' "setup: $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif have sudo; then
		sudo "$@"
	else
		die "root is needed and sudo is not installed; please run as root: $*"
	fi
}

if [ "$(uname -s)" = Darwin ]; then
	manager=brew
elif have apt-get; then
	manager=apt
elif have dnf; then
	manager=dnf
else
	manager=none
fi

# missing collects package names of the system's package manager.
missing=

# need WHAT APT DNF BREW: notes the package that brings WHAT here.
need() {
	case $manager in
	apt) package=$2 ;;
	dnf) package=$3 ;;
	brew) package=$4 ;;
	none) die "$1 is missing; please install it and try again" ;;
	esac
	[ "$package" != - ] || die "$1 is missing; please install it and try again"
	missing="$missing $package"
}

# install_missing installs what was noted, in one go.
install_missing() {
	[ -n "$missing" ] || return 0
	say "installing$missing"
	# shellcheck disable=SC2086 # a list of words
	case $manager in
	apt)
		as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
		;;
	dnf) as_root dnf install -y -q $missing ;;
	brew)
		have brew || die "Homebrew is not installed (https://brew.sh); with it, or by hand, install:$missing"
		brew install -q $missing
		;;
	esac
	missing=
}

# go_number prints major*1000+minor of a Go command, 0 if it is none.
go_number() {
	"$1" version 2>/dev/null | sed -n 's/^go version go\([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | {
		read -r major minor || { echo 0; return; }
		echo $((major * 1000 + minor))
	}
}

old_go() { [ "$(cd / && GOTOOLCHAIN=local go_number go)" -lt "$(echo "$oldest_go" | awk -F. '{print $1*1000+$2}')" ]; }

setup_go() {
	have go || need Go golang-go golang go
	if [ "$manager" = apt ] && [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then
		need "the list of certificate authorities" ca-certificates - -
	fi
	install_missing
	if ! old_go; then
		rm -f "$cache/go"
		return
	fi
	# The distribution's Go is too old to fetch a newer one by itself, but can
	# fetch one as a module, checked like any other.
	wanted=go$(sed -n 's/^go //p' "$here/../go.mod")
	old=$(PATH=$base_path && command -v go) || die "Go is older than $oldest_go; please install a newer one"
	if [ ! -x "$cache/go/bin/go" ] || [ "$("$cache/go/bin/go" env GOVERSION 2>/dev/null)" != "$wanted" ]; then
		say "fetching $wanted, because $("$old" version | cut -d' ' -f3) is too old"
		platform=$("$old" env GOOS)-$("$old" env GOARCH)
		answer=$(cd / && "$old" mod download -json "golang.org/toolchain@v0.0.1-$wanted.$platform") || say "$answer"
		root=$(printf '%s\n' "$answer" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
		[ -d "$root" ] || die "$wanted could not be fetched; please install Go $oldest_go or newer (https://go.dev/dl)"
		# Modules are stored without the right to be executed.
		chmod -R u+w "$root" && chmod -R a+x "$root/bin" "$root/pkg/tool"
		mkdir -p "$cache" && rm -f "$cache/go" && ln -s "$root" "$cache/go"
	fi
}

# Without the toolchain of a former run.
base_path=$(printf %s "$PATH" | tr : '\n' | grep -vxF "$cache/go/bin" | paste -sd: -)

setup_tests() {
	have gcc || have cc || need "a C compiler" gcc gcc - # macOS: xcode-select --install
	if [ "$manager" = apt ] && [ ! -e /usr/include/stdlib.h ]; then
		need "the C library's headers" libc6-dev - -
	fi
	if [ "$manager" != brew ]; then # macOS has its own keyring
		have gnome-keyring-daemon || need gnome-keyring gnome-keyring gnome-keyring -
		have dbus-run-session || need dbus dbus dbus-daemon -
		have secret-tool || need secret-tool libsecret-tools libsecret -
	fi
	have npm || need npm npm nodejs-npm node
	install_missing
	"$here/conformance.sh" >/dev/null
}

PATH=$base_path
case ${1-} in
run) setup_go ;;
test)
	setup_go
	[ ! -x "$cache/go/bin/go" ] || PATH=$cache/go/bin:$PATH
	setup_tests
	;;
*) die "usage: $0 run|test" ;;
esac
