#!/usr/bin/env bash
# accept.sh BASE_URL [NAME...]: gives agents and clients (run.sh; all of them without names) one small task
# each, at a server whose model can do it, such as `corisco serve configs/scripted.yaml`. One passes when it
# exits with 0 and hello.txt holds hello. At a Corisco daemon each gets a rollout of its own and posts its
# verdict as the reward. The last line is "N passed, N failed".
#   CONCURRENT=n        so many run at once (1)
#   PAUSE_SECONDS=n     the daemon is paused so long after the first reply of each. Nobody may fail, or end,
#                       meanwhile; at a Corisco daemon of this machine (held.py) each call must be recorded once
#   TRAIN=1             at a daemon of this machine that runs what script_model.py wrote for so many agents: each
#                       takes a rollout of the training, and after the update that has all of them each call must
#                       have been trained once (held.py). Rewards alternate, since equal ones teach nothing
#   SECONDS_MAX=n       of one agent, the pause aside (180)
#   TASK_MAY_FAIL=1     for a model that cannot do the task: an exit with 0 is enough
#   ADMIN_KEY, KEY      the daemon's admin key; the key to send outside rollouts
source "$(dirname "$0")/../common.sh"
[ $# -ge 1 ] || die "usage: accept.sh BASE_URL [NAME...]"
base_url=${1%/}
shift
[ $# -gt 0 ] || set -- mini-swe-agent openhands opencode claude-code codex qwen-code openai-chat openai-chat-whole \
  openai-responses openai-agents-chat openai-agents-responses litellm-openai litellm-anthropic anthropic
pause=${PAUSE_SECONDS:-0} train=${TRAIN:-}
gather_seconds_max=180 update_seconds_max=600
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

# judge NAME VERDICT: "ok", or why not.
judge() { printf '%s' "$2" >"$logs/$1/verdict"; }
# is_ok NAME
is_ok() { [ "$(cat "$logs/$1/verdict" 2>/dev/null)" = ok ]; }

# open_rollout NAME: prints a rollout of its own as the daemon shows it; without a task, it is the training's next one.
open_rollout() {
  local body='{}'
  [ -n "$train" ] || body='{"task": {"id": "'"$1"'"}}'
  post "$base_url/admin/rollouts" "${ADMIN_KEY:-none}" "$body"
}

# run_one NAME REWARD: judges it. REWARD: of a training rollout; others are rewarded by their verdict.
run_one() {
  local name=$1 reward=$2 folder=$logs/$1 work=$logs/$1/work url=$base_url key=${KEY:-none}
  local rollout="" status=0 verdict=ok started=$SECONDS seconds_max=${SECONDS_MAX:-180}
  [ "$pause" = 0 ] || seconds_max=$((seconds_max + gather_seconds_max + pause))
  mkdir -p "$folder"
  if rollout=$(open_rollout "$name"); then
    url=$(field base_url <<<"$rollout") key=$(field api_key <<<"$rollout")
    url=${url%/v1}
    field rollout_id <<<"$rollout" >"$folder/rollout"
  elif [ -n "$train" ]; then
    judge "$name" "no training rollout"
    return
  fi
  KEY=$key timeout -k 5 "$seconds_max" "$CORISCO_SOURCE/scripts/agents/run.sh" "$name" "$url" policy "$folder" \
    >"$folder/output.txt" 2>&1 || status=$?
  if [ "$status" != 0 ]; then verdict="exit status $status"
  elif [ -z "${TASK_MAY_FAIL:-}" ] && [ "$(cat "$work/hello.txt" 2>/dev/null)" != hello ]; then
    verdict="no hello in hello.txt"
  elif [ "$pause" -gt 0 ] && [ ! -e "$logs/resumed" ]; then verdict="ended during the pause"
  fi
  if [ -n "$rollout" ]; then
    [ -n "$train" ] || reward=$([ "$verdict" = ok ] && echo 1 || echo 0)
    post "$(field reward_url <<<"$rollout")" "$key" \
      '{"event_type": "reward", "data": {"value": '"$reward"'}}' >/dev/null &&
      post "$base_url/admin/rollouts/$(field rollout_id <<<"$rollout")/attempt/$(field attempt <<<"$rollout")/finish" \
        "${ADMIN_KEY:-none}" '' >/dev/null || verdict="$verdict; its rollout could not be finished"
  fi
  judge "$name" "$verdict"
  printf '%-26s %-4s %4d s  %s\n' "$name" "$([ "$verdict" = ok ] && echo ok || echo FAIL)" $((SECONDS - started)) \
    "$([ "$verdict" = ok ] || echo "$verdict: $folder/output.txt")"
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

# run_batch FIRST NAME...: FIRST is the first one's place among all. With a pause all are held at their first call,
# let go until their next, and held there.
run_batch() {
  local name place=$1
  shift
  rm -f "$logs/resumed"
  [ "$pause" = 0 ] || switch pause
  for name in "$@"; do
    run_one "$name" $((place % 2)) &
    place=$((place + 1))
  done
  if [ "$pause" -gt 0 ]; then
    gather $#
    date +%s.%N >"$logs/paused"
    switch resume pause
    sleep "$pause"
    date +%s.%N >"$logs/resumed"
    switch resume
  fi
  wait
  [ "$pause" = 0 ] || for name in "$@"; do paste -d ' ' "$logs/paused" "$logs/resumed" >"$logs/$name/paused"; done
}

# await_update NUMBER: waits until the daemon has made more updates than that.
await_update() {
  local started=$SECONDS
  until [ "$(state updates_done)" -gt "$1" ]; do
    if [ $((SECONDS - started)) -ge "$update_seconds_max" ]; then
      echo "no update in $update_seconds_max s: is rollouts.group_size the number of agents, and did all end well?"
      return 1
    fi
    sleep 1
  done
}

# account NAME RUN_FOLDER: what the run's journal says of its calls, which may change its verdict.
account() {
  local options=()
  [ -e "$logs/$1/rollout" ] || return 0
  # Words of the file are two times.
  [ ! -e "$logs/$1/paused" ] || options+=(--paused $(cat "$logs/$1/paused"))
  [ -z "$train" ] || options+=(--trained)
  printf '%-26s ' "$1"
  python3 "$CORISCO_SOURCE/scripts/agents/held.py" "$corisco" "$2" "$(cat "$logs/$1/rollout")" "${options[@]}" ||
    judge "$1" "other calls"
  echo
}

names=("$@")
[ -z "$train" ] || updates_before=$(state updates_done)
for ((first = 0; first < ${#names[@]}; first += ${CONCURRENT:-1})); do
  run_batch "$first" "${names[@]:first:${CONCURRENT:-1}}"
done
balanced=1
[ -z "$train" ] || await_update "$updates_before" || balanced=0
if [ -n "$train" ] || [ "$pause" -gt 0 ] && run_folder=$(state folder) && [ -d "$run_folder" ]; then
  for name in "${names[@]}"; do account "$name" "$run_folder"; done
  printf '%-26s ' "all of the run"
  python3 "$CORISCO_SOURCE/scripts/agents/held.py" "$corisco" "$run_folder" || balanced=0
  echo
fi
passed=0
for name in "${names[@]}"; do
  ! is_ok "$name" || passed=$((passed + 1))
done
echo "logs: $logs"
echo "$passed passed, $((${#names[@]} - passed)) failed"
[ "$passed" = "${#names[@]}" ] && [ "$balanced" = 1 ]
