#!/usr/bin/env bash
# run.sh NAME BASE_URL MODEL FOLDER [PROMPT]: one agent or client, without a terminal, on one task. It works
# in FOLDER/work, with FOLDER/home as its HOME and nothing of this shell's environment but PATH.
# NAME is a preset or a client of clients.py; BASE_URL is without /v1. KEY is the key to send. Presets are
# started by `corisco launch`, so exactly as in a rollout. The exit status is the agent's.
source "$(dirname "$0")/../common.sh"
[ $# -ge 4 ] || die "usage: run.sh NAME BASE_URL MODEL FOLDER [PROMPT]"
name=$1 base_url=${2%/} model=$3 folder=$4
prompt=${5:-Write the word hello into the file hello.txt in the current folder, then stop.}
agents=$CORISCO_CACHE/agents
mkdir -p "$folder/work" "$folder/home"
folder=$(cd "$folder" && pwd)
case $name in
  mini-swe-agent | openhands | opencode | claude-code | codex | qwen-code)
    PATH=$agents/bin:$PATH exec "${CORISCO_BINARY:-$CORISCO_SOURCE/build/release/corisco}" launch "$name" "$base_url" \
      "$folder" "$prompt" --model "$model" --key "${KEY:-none}" ;;
  *)
    [ -x "$agents/clients/bin/python" ] || die "the client libraries are missing: scripts/agents/install.sh clients"
    cd "$folder/work"
    exec env -i PATH="$PATH" HOME="$folder/home" LANG=C.UTF-8 OPENAI_API_KEY="${KEY:-none}" \
      LITELLM_LOCAL_MODEL_COST_MAP=True "$agents/clients/bin/python" "$CORISCO_SOURCE/scripts/agents/clients.py" \
      "$name" "$base_url" "$model" "$prompt" </dev/null ;;
esac
