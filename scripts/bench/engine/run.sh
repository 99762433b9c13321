#!/usr/bin/env bash
# Measures the engine beside transformers' generate and llama.cpp, in turn, and the daemon under a mix of clients.
# A quarter of an hour on two cores; the machine should do nothing else. Prints tables in Markdown and keeps each
# figure's line in FOLDER/runs.jsonl.
# Usage: run.sh FOLDER [options of bench.py]
#   --points prefill512,prefill4096,decode1,decode4,decode16,decode64,served
#                         some of the points; those measured before stay in FOLDER and in the tables
#   --dtypes float32,bfloat16   of ours; --peer-dtypes: of transformers, whose bfloat16 is very slow on CPUs without
#                         instructions for it; --gguf F32,BF16: of llama.cpp, "" for none
#   CORISCO_BINARY        a daemon that is built already
#   CORISCO_BENCH_PYTHON  an interpreter that has torch, transformers, llama_cpp, gguf and safetensors; without it
#                         they are installed into the cache, which takes gigabytes and compiles llama.cpp
source "$(dirname "$0")/../../common.sh"
[ $# -ge 1 ] || die "usage: run.sh FOLDER [options of bench.py]"
mkdir -p "$1"
folder=$(realpath "$1")
shift
here=$CORISCO_SOURCE/scripts/bench/engine
build=$CORISCO_SOURCE/build/release
if [ -z "${CORISCO_BINARY:-}" ]; then
  "$CORISCO_SOURCE/scripts/build.sh" release corisco bench_engine
  CORISCO_BINARY=$build/corisco
else
  "$CORISCO_SOURCE/scripts/build.sh" release bench_engine
fi
python=${CORISCO_BENCH_PYTHON:-$("$here/install_peers.sh")}
model=${CORISCO_MODEL:-$("$CORISCO_SOURCE/scripts/fetch_model.sh")}
"$python" "$here/bench.py" --daemon "$CORISCO_BINARY" --program "$build/bench_engine" --model "$model" \
  --python "$python" "$@" "$folder"
exec "$python" "$here/table.py" "$folder/runs.jsonl"
