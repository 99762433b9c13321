#!/usr/bin/env bash
# Makes the Python environment of the engine's peers in the cache and prints its interpreter. llama.cpp is compiled
# for AVX2 and not for the machine at hand: its default build meets illegal instructions on some virtual machines.
source "$(dirname "$0")/../../common.sh"
here=$CORISCO_SOURCE/scripts/bench/engine
folder=$CORISCO_CACHE/bench-peers/engine
wanted=$(sha256sum <"$here/peers.txt")
lock "$folder.lock"
if [ "$(cat "$folder/complete" 2>/dev/null)" != "$wanted" ]; then
  say "installing the engine's peers into $folder"
  rm -rf "$folder"
  "$(find_python)" -m venv "$folder" || die "python -m venv failed; on Debian: apt-get install python3-venv"
  CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" "$folder/bin/python" -m pip install --quiet \
    --disable-pip-version-check -r "$here/peers.txt" >&2 || die "could not install $here/peers.txt"
  printf '%s' "$wanted" >"$folder/complete"
fi
echo "$folder/bin/python"
