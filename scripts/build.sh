#!/usr/bin/env bash
# Builds a preset (release by default) into build/PRESET; the daemon is build/release/corisco.
# Fetches what is missing first. Usage: build.sh [PRESET] [TARGET ...]
source "$(dirname "$0")/common.sh"
preset=${1:-release}; shift || true
"$CORISCO_SOURCE/scripts/install_deps.sh"
libtorch=$("$CORISCO_SOURCE/scripts/fetch_libtorch.sh")
cd "$CORISCO_SOURCE"
lock "build/$preset.lock"
[ -e "build/$preset/build.ninja" ] || say "configuring $preset"
log=$(mktemp); trap 'rm -f "$log"' EXIT
cmake --preset "$preset" -DCORISCO_LIBTORCH="$libtorch" >"$log" 2>&1 || { cat "$log" >&2; die "cmake failed"; }
say "building $preset"
cmake --build "build/$preset" ${1:+--target "$@"} >&2
