#!/usr/bin/env bash
# Installs the proxies that the gateway is measured against into the cache, in pinned versions: 0.6 GB,
# a few minutes. What is there already stays. Prints the folder, which holds agentlightning/ and litellm/.
source "$(dirname "$0")/../../common.sh"
here=$CORISCO_SOURCE/scripts/bench/gateway
peers=$CORISCO_CACHE/bench-peers

mkdir -p "$peers"
lock "$peers/lock"
for name in agentlightning litellm; do
  wanted=$(sha256sum <"$here/$name.txt")
  [ "$(cat "$peers/$name/complete" 2>/dev/null)" = "$wanted" ] && continue
  say "installing $name into $peers/$name"
  rm -rf "${peers:?}/$name"
  python=$(find_python)
  "$python" -m venv "$peers/$name" || die "$python -m venv failed; on Debian: apt-get install python3-venv"
  # antlr4-python3-runtime, which Agent Lightning's configuration library wants, exists as a source only.
  "$peers/$name/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --no-binary=antlr4-python3-runtime -r "$here/$name.txt" >&2 || die "could not install $name"
  printf '%s' "$wanted" >"$peers/$name/complete"
done
echo "$peers"
