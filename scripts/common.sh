# Sourced by the other scripts: where things are kept, and how they say what they do.
set -euo pipefail
CORISCO_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CORISCO_CACHE=${CORISCO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/corisco}
TORCH_VERSION=2.11.0
export CORISCO_CACHE
say() { if [ -t 2 ]; then printf '\033[1m==> %s\033[0m\n' "$*" >&2; else printf '==> %s\n' "$*" >&2; fi; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# lock FILE: waits until no other script holds it; held until this script ends.
lock() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1"
  flock 9
}

# fetch_wheels FOLDER: downloads the wheels that standard input lists, one "NAME==VERSION SHA256"
# a line, through pip, and refuses a file with another hash.
fetch_wheels() {
  local folder=$1 requirements
  mkdir -p "$folder"
  requirements=$(mktemp)
  awk 'NF == 2 {print $1 " --hash=sha256:" $2}' >"$requirements"
  local platforms=() platform
  for platform in manylinux_2_{28,27,25,18,17,12,5}_x86_64 manylinux{2014,2010,1}_x86_64 any; do
    platforms+=(--platform "$platform")
  done
  python3 -m pip download --quiet --no-cache-dir --disable-pip-version-check --no-deps --only-binary=:all: \
    --require-hashes --python-version 3.11 "${platforms[@]}" \
    --dest "$folder" -r "$requirements" || { rm -f "$requirements"; die "could not download the packages"; }
  rm -f "$requirements"
}

# python_environment FOLDER REQUIREMENTS: makes a virtual environment of what REQUIREMENTS pins by hash, anew
# when that file or the interpreter changes.
python_environment() {
  local folder=$1 requirements=$2 wanted
  wanted=$(sha256sum <"$requirements")$(python3 --version)
  lock "$folder.lock"
  if [ -x "$folder/bin/python3" ] && [ "$(cat "$folder/complete" 2>/dev/null)" = "$wanted" ]; then return; fi
  say "making the Python environment $folder"
  # Console scripts hold the folder's path, so it is made in place; the stamp says that it is whole.
  rm -rf "$folder"
  python3 -m venv "$folder" || die "python3 -m venv failed; on Debian: apt-get install python3-venv"
  "$folder/bin/python3" -m pip install --quiet --no-cache-dir --disable-pip-version-check --only-binary=:all: \
    --require-hashes -r "$requirements" >&2 || die "could not install $requirements"
  printf '%s' "$wanted" >"$folder/complete"
}

# find_python: one of 3.12 or newer, which some packages need: $PYTHON, what is on PATH, what pyenv has.
find_python() {
  local candidate pyenv=${PYENV_ROOT:-$HOME/.pyenv}
  for candidate in ${PYTHON:-} python3.12 python3.13 python3 "$pyenv"/versions/3.1[2-9]*/bin/python3; do
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && { echo "$candidate"; return; }
  done
  die "Python 3.12 or newer is needed (Debian 13, Ubuntu 24.04 and pyenv have one): name it in PYTHON"
}
