#!/usr/bin/env bash
# Measures the reply parsers beside SGLang's, over the same replies in the same run, each on one core. A minute
# after what it builds and installs; the machine should do nothing else. Prints a table in Markdown and keeps
# the replies and each program's lines in FOLDER.
# Usage: run.sh FOLDER
source "$(dirname "$0")/../../common.sh"
[ $# -eq 1 ] || die "usage: run.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
here=$CORISCO_SOURCE/scripts/bench/parsers
"$CORISCO_SOURCE/scripts/build.sh" release bench_parsers
peer=$("$here/install_sglang.sh")
python3 "$here/replies.py" "$folder/replies.json"
taskset -c 0 "$CORISCO_SOURCE/build/release/bench_parsers" "$folder/replies.json" 1 >"$folder/corisco.jsonl"
taskset -c 0 "$peer/venv/bin/python" "$here/sglang_parsers.py" "$peer/sources" "$folder/replies.json" 1 \
  >"$folder/sglang.jsonl"
python3 "$here/table.py" "$folder/corisco.jsonl" "$folder/sglang.jsonl"
