#!/usr/bin/env bash
# Runs the tests of base and of what in the engine and the model needs no torch (scheduler, caches, sampler, kernels)
# under address and undefined-behaviour sanitizers, and then under the thread sanitizer. Needs no libtorch.
# Usage: sanitize.sh [address] [thread]
source "$(dirname "$0")/common.sh"
[ $# -gt 0 ] || set -- address thread
"$CORISCO_SOURCE/scripts/install_deps.sh"
cd "$CORISCO_SOURCE"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1
# The thread sanitizer of older compilers refuses addresses that newer kernels choose at random.
fixed_addresses=(setarch "$(uname -m)" -R)
"${fixed_addresses[@]}" true 2>/dev/null || fixed_addresses=()

# Boost's list of free nodes reads a link that another thread may be taking, and lets the tag beside it decide.
suppressions=$(mktemp); trap 'rm -f "$suppressions"' EXIT
echo "race:boost::lockfree::detail::*freelist*" >"$suppressions"
TSAN_OPTIONS+=" suppressions=$suppressions"

for kind in "$@"; do
  build=build/sanitize-$kind
  log=$(mktemp)
  lock "$build.lock"
  cmake --preset "sanitize-$kind" >"$log" 2>&1 || { cat "$log" >&2; die "cmake failed"; }
  rm -f "$log"
  say "building $build"
  cmake --build "$build" --target sanitized_tests >&2
  for program in test_base test_engine_parts; do
    say "$kind: $program"
    "${fixed_addresses[@]}" "$build/$program" --gtest_brief=1 || die "$build/$program found something"
  done
done
echo "sanitize: no findings"
