#!/usr/bin/env bash
# Fuzzes a running daemon by docs/openapi.yaml: no server errors, and only the statuses, content types
# and bodies that the document has. Keys, if needed: CORISCO_FUZZ_KEY. Exit status 0: nothing found.
#   corisco serve configs/scripted.yaml    and then    schemathesis.sh http://127.0.0.1:8080
# Usage: schemathesis.sh BASE_URL [SECONDS (60)]
source "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || die "usage: schemathesis.sh BASE_URL [SECONDS]"
url=${1%/} seconds=${2:-60}
environment=$CORISCO_CACHE/schemathesis
python_environment "$environment" "$CORISCO_SOURCE/scripts/schemathesis.txt"
headers=()
[ -z "${CORISCO_FUZZ_KEY:-}" ] || headers=(--header "Authorization: Bearer $CORISCO_FUZZ_KEY")
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"    # where it keeps what it has seen
# Of the server errors, those that the document means: not served (501), overloaded or not ready (503, 529).
printf '[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501, 503, 529]\n' >schemathesis.toml
status=0
# What pauses is left out: every call after it would wait.
timeout --signal=INT --kill-after=20 "$((seconds + 60))" "$environment/bin/schemathesis" run \
  "$CORISCO_SOURCE/docs/openapi.yaml" --url "$url" --max-time "$seconds" --request-timeout 20 --workers 1 --no-color \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
  --exclude-path /admin/pause --exclude-path /proxy/pause "${headers[@]}" || status=$?
exit "$status"
