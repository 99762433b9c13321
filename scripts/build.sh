#!/usr/bin/env bash
# Builds a preset (release by default) into build/PRESET; the daemon is build/release/corisco.
# Fetches what is missing first. Usage: build.sh [PRESET] [TARGET ...]
source "$(dirname "$0")/common.sh"
preset=${1:-release}; shift || true
"$CORISCO_SOURCE/scripts/install_deps.sh"
libtorch=$("$CORISCO_SOURCE/scripts/fetch_libtorch.sh")
cd "$CORISCO_SOURCE"
[ -e "build/$preset/build.ninja" ] || say "configuring $preset"
cmake --preset "$preset" -DCORISCO_LIBTORCH="$libtorch" >"/tmp/corisco-cmake.$$" 2>&1 ||
  { cat "/tmp/corisco-cmake.$$" >&2; rm -f "/tmp/corisco-cmake.$$"; die "cmake failed"; }
rm -f "/tmp/corisco-cmake.$$"
say "building $preset"
cmake --build "build/$preset" ${1:+--target "$@"} >&2
