#!/usr/bin/env bash
# From a fresh clone to a trained model: installs, fetches, builds, then trains on two cores in about
# a quarter of an hour. Further arguments go to `corisco serve`, such as --set run.updates=10.
source "$(dirname "$0")/common.sh"
"$CORISCO_SOURCE/scripts/build.sh" release corisco
python=$("$CORISCO_SOURCE/scripts/python_env.sh")
model=$("$CORISCO_SOURCE/scripts/fetch_model.sh")
cd "$CORISCO_SOURCE"
say "training: corisco serve configs/quickstart/quickstart.yaml"
CORISCO_MODEL=$model CORISCO_PYTHON=$python exec build/release/corisco serve configs/quickstart/quickstart.yaml "$@"
