#!/usr/bin/env bash
# Measures the gateway beside a bare Beast server, Agent Lightning's server and LiteLLM's proxy, in turn,
# on two cores: servers on one, load on the other. Six minutes at most after what it builds and installs;
# the machine should do nothing else. Prints a table in Markdown and keeps each run's line in FOLDER.
# Usage: run.sh FOLDER. CORISCO_BINARY: a daemon that is built already.
source "$(dirname "$0")/../../common.sh"
[ $# -eq 1 ] || die "usage: run.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
here=$CORISCO_SOURCE/scripts/bench/gateway
if [ -z "${CORISCO_BINARY:-}" ]; then
  "$CORISCO_SOURCE/scripts/build.sh" release corisco bench_gateway
  CORISCO_BINARY=$CORISCO_SOURCE/build/release/corisco
else
  "$CORISCO_SOURCE/scripts/build.sh" release bench_gateway
fi
peers=$("$here/install_peers.sh")
model=$("$CORISCO_SOURCE/scripts/fetch_model.sh")
exec python3 "$here/bench.py" --daemon "$CORISCO_BINARY" --programs "$CORISCO_SOURCE/build/release" \
  --peers "$peers" --model "$model" "$folder"
