#!/usr/bin/env bash
# Builds, runs every test, and ends with how many passed and failed.
# Usage: test.sh [NAME ...]: only the test programs or Python files whose name contains one of these.
source "$(dirname "$0")/common.sh"
"$CORISCO_SOURCE/scripts/build.sh" release
python=$("$CORISCO_SOURCE/scripts/python_env.sh")
CORISCO_MODEL=$("$CORISCO_SOURCE/scripts/fetch_model.sh")
CORISCO_TEMPLATES=$("$CORISCO_SOURCE/scripts/fetch_templates.sh") || say "without them their tests are skipped"
export CORISCO_MODEL CORISCO_TEMPLATES
exec "$python" "$CORISCO_SOURCE/scripts/run_tests.py" "$CORISCO_SOURCE/build/release" "$@"
