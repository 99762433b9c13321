#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if any is missing: as root, through
# sudo, or by saying what to install. Quick when nothing is missing.
# Usage: install_deps.sh [PACKAGE ...]: those too, such as the compiler of scripts/fuzz.sh.
source "$(dirname "$0")/common.sh"
[ "$(uname -m)" = x86_64 ] || die "Corisco runs on x86-64 only so far; this is $(uname -m)"
packages=(g++ cmake ninja-build ccache ca-certificates libboost1.81-dev nlohmann-json3-dev libspdlog-dev
  libyaml-cpp-dev libssl-dev libcli11-dev libgtest-dev libgmock-dev prometheus-cpp-dev
  python3 python3-pip python3-venv procps "$@")
# Any cargo from 1.87 on serves; Debian 12 has one in the package cargo-web, from its security updates.
is_new() { [[ $1 == [0-9]* && $(printf '1.87\n%s\n' "$1" | sort -V | head -n1) == 1.87 ]]; }
cargo_version() { command -v cargo >/dev/null && cargo --version | cut -d' ' -f2; }

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
is_new "$(cargo_version)" || missing+=(cargo-web)
[ ${#missing[@]} -eq 0 ] && exit 0
grep -q '^VERSION_CODENAME=bookworm' /etc/os-release 2>/dev/null ||
  die "this script knows Debian 12's packages only; install what corresponds to: ${missing[*]} (or use docker/Dockerfile)"
if [ "$(id -u)" = 0 ]; then as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo)
elif command -v sudo >/dev/null && [ -t 0 ]; then as_root=(sudo)
else die "missing packages, and neither root nor sudo here. As root: apt-get update && apt-get install ${missing[*]}"
fi
say "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
is_new "$(cargo_version)" || is_new "$(apt-cache policy cargo-web | awk '/Candidate:/ {print $2}')" ||
  die "cargo 1.87 or newer is needed: add the suite bookworm-security to apt's sources, or put a cargo on PATH"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-remove \
  --no-install-recommends "${missing[@]}" >/dev/null ||
  die "apt-get could not install ${missing[*]}; if it would have to remove your cargo or rustc, put cargo 1.87 or newer on PATH"
