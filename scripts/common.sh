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
  python3 -m pip download --quiet --no-cache-dir --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --python-version 3.11 "${platforms[@]}" \
    --dest "$folder" -r "$requirements" || { rm -f "$requirements"; die "could not download the packages"; }
  rm -f "$requirements"
}
