#!/usr/bin/env bash
# Unpacks SGLang's parsers into the cache beside a Python that has what they import: 40 MB to download. What is
# there already stays. Prints the folder, which holds sources/ and venv/.
source "$(dirname "$0")/../../common.sh"
here=$CORISCO_SOURCE/scripts/bench/parsers
wheel="sglang==0.5.23 --hash=sha256:00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937"
target=$CORISCO_CACHE/bench-parsers

lock "$target.lock"
wanted=$(printf '%s' "$wheel" | cat - "$here/sglang.txt" | sha256sum)
if [ "$(cat "$target/complete" 2>/dev/null)" != "$wanted" ]; then
  say "fetching SGLang's parsers into $target"
  rm -rf "$target"
  mkdir -p "$target"
  python3 -m venv "$target/venv" || die "python3 -m venv failed; on Debian: apt-get install python3-venv"
  printf '%s\n' "$wheel" >"$target/wheel.txt"
  "$target/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --require-hashes --python-version 3.11 --platform manylinux_2_34_x86_64 --dest "$target" \
    -r "$target/wheel.txt" >&2 || die "could not download SGLang"
  "$target/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    -r "$here/sglang.txt" >&2 || die "could not install what its parsers import"
  "$target/venv/bin/python" - "$target" <<'PYTHON'
import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/sglang-*.whl")[0])
for name in wheel.namelist():
    if name.startswith(("sglang/srt/function_call/", "sglang/srt/parser/")):
        wheel.extract(name, sys.argv[1] + "/sources")
PYTHON
  rm "$target"/sglang-*.whl
  printf '%s' "$wanted" >"$target/complete"
fi
echo "$target"
