#!/usr/bin/env bash
# Makes the Python environment of the harness, the converter and the recipe's tests in the cache, anew
# when requirements.txt changes. Prints the interpreter's path. Torch is not in it.
source "$(dirname "$0")/common.sh"
requirements=$CORISCO_SOURCE/scripts/requirements.txt
target=$CORISCO_CACHE/venv
wanted=$(sha256sum <"$requirements")$(python3 --version)
lock "$CORISCO_CACHE/venv.lock"
if [ ! -x "$target/bin/python3" ] || [ "$(cat "$target/complete" 2>/dev/null)" != "$wanted" ]; then
  say "making the Python environment $target"
  # Console scripts hold the folder's path, so it is made in place; the stamp says that it is whole.
  rm -rf "$target"
  python3 -m venv "$target" || die "python3 -m venv failed; on Debian: apt-get install python3-venv"
  "$target/bin/python3" -m pip install --quiet --no-cache-dir --disable-pip-version-check --only-binary=:all: \
    --require-hashes -r "$requirements" >&2 || die "could not install $requirements"
  printf '%s' "$wanted" >"$target/complete"
fi
echo "$target/bin/python3"
