#!/usr/bin/env bash
# Measures continuation: records real agents' conversations, replays them in several forms, and counts the rows
# that each rollout becomes, here and by plain exact-prefix merging; then what a turn of a long conversation
# costs, and what the engine computes of a continued prompt. Prints tables in Markdown; keeps all in FOLDER,
# where what is recorded already is not recorded again. Half an hour on two cores with all agents.
# Usage: run.sh FOLDER. CORISCO_BINARY: a daemon that is built already.
#   AGENTS=name,...     of turns.py; all that are installed
source "$(dirname "$0")/../../common.sh"
[ $# -eq 1 ] || die "usage: run.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
here=$CORISCO_SOURCE/scripts/bench/continuation
if [ -z "${CORISCO_BINARY:-}" ]; then
  "$CORISCO_SOURCE/scripts/build.sh" release corisco
  CORISCO_BINARY=$CORISCO_SOURCE/build/release/corisco
fi
"$CORISCO_SOURCE/scripts/agents/install.sh" clients >/dev/null
python=$CORISCO_CACHE/agents/clients/bin/python   # has tokenizers and jinja2 too
model=$("$CORISCO_SOURCE/scripts/fetch_model.sh")
"$here/make_forms.sh" "$folder/forms"
"$python" "$here/recorder.py" --daemon "$CORISCO_BINARY" --forms "$folder/forms" \
  ${AGENTS:+--agents "$AGENTS"} "$folder/recordings"
"$python" "$here/share.py" --daemon "$CORISCO_BINARY" --forms "$folder/forms" --recordings "$folder/recordings" \
  "$folder/shares.jsonl"
"$python" "$here/cost.py" --daemon "$CORISCO_BINARY" --model "$model" "$folder/cost.jsonl"
"$python" "$here/prefill.py" --daemon "$CORISCO_BINARY" --model "$model" "$folder/prefill.jsonl"
exec "$python" "$here/table.py" "$folder"
