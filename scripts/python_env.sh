#!/usr/bin/env bash
# Makes the Python environment of the harness, the converter and the recipe's tests in the cache, anew
# when requirements.txt changes. Prints the interpreter's path. Torch is not in it.
source "$(dirname "$0")/common.sh"
python_environment "$CORISCO_CACHE/venv" "$CORISCO_SOURCE/scripts/requirements.txt"
echo "$CORISCO_CACHE/venv/bin/python3"
