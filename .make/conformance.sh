#!/bin/sh
# Brings the conformance suites of the Model Context Protocol, and a Node that
# can run them, into the user's cache, and prints that folder: bin/node, and the suites below stable/ and
# next/. Fetches nothing when they are there.
set -eu

node=24.21.0
stable=0.1.16 # the suite as released, for the session revisions
next=0.2.0-alpha.12 # the coming one, which checks requirement by requirement
oldest_node=22

folder=${XDG_CACHE_HOME:-$HOME/.cache}/ionclaw-tray/conformance-$stable-$next-node$node
if [ -e "$folder/ready" ]; then
	echo "$folder"
	exit
fi

printf '%s\n' "setup: fetching the conformance suites $stable and $next" >&2
mkdir -p "$(dirname "$folder")"
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new"' EXIT
mkdir "$new/bin"

fetch() { npm install --prefix "$1" --no-save --no-audit --no-fund --loglevel=error "$2" >&2; }

fetch "$new/stable" "@modelcontextprotocol/conformance@$stable"
fetch "$new/next" "@modelcontextprotocol/conformance@$next"

major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
if [ "${major:-0}" -ge "$oldest_node" ]; then
	ln -s "$(command -v node)" "$new/bin/node"
else
	fetch "$new/node" "node@$node"
	[ "$("$new/node/node_modules/node/bin/node" --version)" = "v$node" ] || {
		echo "setup: Node $node could not be fetched; please install Node $oldest_node or newer" >&2
		exit 1
	}
	ln -s ../node/node_modules/node/bin/node "$new/bin/node"
fi

: >"$new/ready"
if [ -e "$folder" ]; then
	rm -rf "$new" # another run was faster
else
	mv "$new" "$folder"
fi
trap - EXIT
[ -e "$folder/ready" ] || { echo "setup: $folder is in the way; please remove it" >&2; exit 1; }
echo "$folder"
