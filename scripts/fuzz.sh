#!/usr/bin/env bash
# Builds the fuzz targets (tests/fuzz, clang with address and undefined-behaviour sanitizers; of the modules
# those that they use, without torch) and runs each for some seconds, CORISCO_FUZZ_JOBS (2) at once. What they
# learn is kept in the cache and goes into the next run. Inputs that break something are kept in
# build/fuzz/findings; run a target on one to see it again.
# Usage: fuzz.sh [SECONDS_PER_TARGET (5)] [TARGET ...]
source "$(dirname "$0")/common.sh"
seconds=${1:-5}; shift || true
"$CORISCO_SOURCE/scripts/install_deps.sh" clang-16 libclang-rt-16-dev
cd "$CORISCO_SOURCE"
lock build/fuzz.lock
logs=$(mktemp -d); trap 'rm -rf "$logs"' EXIT
cmake --preset fuzz >"$logs/cmake" 2>&1 || { cat "$logs/cmake" >&2; die "cmake failed"; }
say "building the fuzz targets"
cmake --build build/fuzz --target fuzz_targets >&2

export ASAN_OPTIONS=allow_addr2line=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:allow_addr2line=1
seeds=build/fuzz/seeds findings=build/fuzz/findings
rm -rf "$seeds"; mkdir -p "$findings"
python3 tests/fuzz/seeds.py "$seeds"
names=("$@")
[ ${#names[@]} -gt 0 ] || for source in tests/fuzz/*.cc; do names+=("$(basename "$source" .cc)"); done

# Keeps in FOLDER the fewest inputs that reach what it and the seeds reach.
merge() {
  local folder=$1 name=$2 log=$3
  rm -rf "$folder.new"; mkdir "$folder.new"
  "build/fuzz/fuzz_$name" -merge=1 -timeout=20 "$folder.new" "$folder" "$seeds/$name" >"$log" 2>&1 || return 0
  rm -rf "$folder"; mv "$folder.new" "$folder"
}

# One target; its exit status says whether there was a finding.
run_target() {
  local name=$1 corpus=$CORISCO_CACHE/fuzz/$1 log=$logs/$1
  mkdir -p "$corpus" "$seeds/$name"
  if "build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 \
      -print_final_stats=1 -artifact_prefix="$findings/$name-" "$corpus" "$seeds/$name" >"$log" 2>&1; then
    say "$name: $(awk '/number_of_executed_units/ {print $2}' "$log") inputs, $(grep -o 'cov: [0-9]*' "$log" | tail -n1)"
    merge "$corpus" "$name" "$log"
  else
    grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)|^\s*NEW_FUNC' "$log" | tail -n 60 >&2
    say "$name: a finding, see $findings"
    return 1
  fi
}

num_findings=0 num_running=0
for name in "${names[@]}"; do
  if [ "$num_running" -ge "${CORISCO_FUZZ_JOBS:-2}" ]; then
    wait -n || num_findings=$((num_findings + 1))
    num_running=$((num_running - 1))
  fi
  run_target "$name" &
  num_running=$((num_running + 1))
done
for ((; num_running > 0; --num_running)); do wait -n || num_findings=$((num_findings + 1)); done
echo "fuzz: ${#names[@]} targets, $num_findings findings"
[ "$num_findings" = 0 ]
