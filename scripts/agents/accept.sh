#!/usr/bin/env bash
# accept.sh BASE_URL [NAME...]: gives agents and clients (run.sh; all of them without names) one small task
# each, at a server whose model can do it, such as `corisco serve configs/scripted.yaml`. One passes when it
# exits with 0 and hello.txt holds hello. At a Corisco daemon each gets a rollout of its own and posts its
# verdict as the reward. The last line is "N passed, N failed".
#   CONCURRENT=n        so many run at once (1)
#   PAUSE_SECONDS=n     the daemon is paused so long after the first reply of each. Nobody may fail, or end,
#                       meanwhile; at a Corisco daemon of this machine (held.py) each call must be recorded once
#   SECONDS_MAX=n       of one agent, the pause aside (180)
#   TASK_MAY_FAIL=1     for a model that cannot do the task: an exit with 0 is enough
#   ADMIN_KEY, KEY      the daemon's admin key; the key to send outside rollouts
source "$(dirname "$0")/../common.sh"
[ $# -ge 1 ] || die "usage: accept.sh BASE_URL [NAME...]"
base_url=${1%/}
shift
[ $# -gt 0 ] || set -- mini-swe-agent openhands opencode claude-code codex qwen-code openai-chat openai-chat-whole \
  openai-responses openai-agents-chat openai-agents-responses litellm-openai litellm-anthropic anthropic
pause=${PAUSE_SECONDS:-0}
gather_seconds_max=180
corisco=${CORISCO_BINARY:-$CORISCO_SOURCE/build/release/corisco}
logs=$(mktemp -d)

# post URL KEY BODY: prints the reply; fails where the server does not say 2xx.
post() {
  curl --silent --fail --max-time 20 -H "Authorization: Bearer $2" -H 'Content-Type: application/json' -d "$3" "$1"
}
# field NAME: of the JSON object on standard input.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# admin CURL_ARGUMENT...: asks with the admin's key; fails where the server does not say 2xx.
admin() {
  curl --silent --fail --fail-early --max-time 20 -H "Authorization: Bearer ${ADMIN_KEY:-none}" "$@"
}
# state FIELD: of what the daemon says it does.
state() { admin "$base_url/admin/state" | field "$1"; }
# switch VERB...: pause and resume, one right after the other.
switch() { admin -d '' "${@/#/$base_url/admin/}" >/dev/null || die "could not $* $base_url"; }

# What judges one: writes "ok" or why not into its verdict file.
run_one() {
  local name=$1 folder=$logs/$1 work=$logs/$1/work url=$base_url key=${KEY:-none}
  local rollout="" status=0 verdict=ok note="" started=$SECONDS seconds_max=${SECONDS_MAX:-180}
  [ "$pause" = 0 ] || seconds_max=$((seconds_max + gather_seconds_max + pause))
  mkdir -p "$folder"
  if rollout=$(post "$base_url/admin/rollouts" "${ADMIN_KEY:-none}" '{"task": {"id": "'"$name"'"}}'); then
    url=$(field base_url <<<"$rollout") key=$(field api_key <<<"$rollout")
    url=${url%/v1}
  fi
  KEY=$key timeout -k 5 "$seconds_max" "$CORISCO_SOURCE/scripts/agents/run.sh" "$name" "$url" policy "$folder" \
    >"$folder/output.txt" 2>&1 || status=$?
  if [ "$status" != 0 ]; then verdict="exit status $status"
  elif [ -z "${TASK_MAY_FAIL:-}" ] && [ "$(cat "$work/hello.txt" 2>/dev/null)" != hello ]; then
    verdict="no hello in hello.txt"
  elif [ "$pause" -gt 0 ] && [ ! -e "$logs/resumed" ]; then verdict="ended during the pause"
  elif [ "$pause" -gt 0 ] && [ -n "$rollout" ] && [ -d "$(state folder)" ]; then
    note=$(python3 "$CORISCO_SOURCE/scripts/agents/held.py" "$corisco" "$(state folder)" \
      "$(field rollout_id <<<"$rollout")" "$(cat "$logs/paused")" "$(cat "$logs/resumed")") || verdict="other calls"
  fi
  if [ -n "$rollout" ]; then
    post "$(field reward_url <<<"$rollout")" "$key" \
      '{"event_type": "reward", "data": {"value": '"$([ "$verdict" = ok ] && echo true || echo false)"'}}' >/dev/null &&
      post "$base_url/admin/rollouts/$(field rollout_id <<<"$rollout")/attempt/$(field attempt <<<"$rollout")/finish" \
        "${ADMIN_KEY:-none}" '' >/dev/null || verdict="$verdict; its rollout could not be finished"
  fi
  printf '%s' "$verdict" >"$folder/verdict"
  printf '%-26s %-4s %4d s  %s\n' "$name" "$([ "$verdict" = ok ] && echo ok || echo FAIL)" $((SECONDS - started)) \
    "$note$([ "$verdict" = ok ] || echo " $verdict: $folder/output.txt")"
}

# gather NUMBER: waits until the daemon holds the first call of each of so many agents. Some make two at once,
# so it waits for their number to settle as well.
gather() {
  local held=0 before settled=0 started=$SECONDS
  while [ $((SECONDS - started)) -lt "$gather_seconds_max" ] && [ "$settled" -lt 10 ]; do
    sleep 1
    before=$held held=$(state requests_held)
    if [ "$held" -ge "$1" ] && [ "$held" = "$before" ]; then settled=$((settled + 1)); else settled=0; fi
  done
}

# One batch. With a pause all are held at their first call, let go until their next, and held there.
run_batch() {
  rm -f "$logs/resumed"
  [ "$pause" = 0 ] || switch pause
  local name
  for name in "$@"; do run_one "$name" & done
  if [ "$pause" -gt 0 ]; then
    gather $#
    date +%s.%N >"$logs/paused"
    switch resume pause
    sleep "$pause"
    date +%s.%N >"$logs/resumed"
    switch resume
  fi
  wait
}

names=("$@")
for ((first = 0; first < ${#names[@]}; first += ${CONCURRENT:-1})); do
  run_batch "${names[@]:first:${CONCURRENT:-1}}"
done
passed=0
for name in "${names[@]}"; do
  [ "$(cat "$logs/$name/verdict" 2>/dev/null)" != ok ] || passed=$((passed + 1))
done
echo "logs: $logs"
echo "$passed passed, $((${#names[@]} - passed)) failed"
[ "$passed" = "${#names[@]}" ]
