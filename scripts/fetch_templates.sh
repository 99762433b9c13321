#!/usr/bin/env bash
# Fetches chat templates of real models (they come with a source package of 77 MB) into the cache, once. Prints
# the folder. tests/text compares renderings of some of them with transformers' (CORISCO_TEMPLATES names it).
source "$(dirname "$0")/common.sh"
target=$CORISCO_CACHE/chat-templates-0.3.36
lock "$target.lock"
if [ ! -e "$target" ]; then
  say "fetching chat templates into $target (77 MB download)"
  work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
  echo "llama-cpp-python==0.3.36 --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e" \
    >"$work/requirements.txt"
  python3 -m pip download --quiet --no-cache-dir --disable-pip-version-check --no-deps --no-binary=llama-cpp-python \
    --require-hashes --dest "$work" -r "$work/requirements.txt" || die "could not download the package"
  tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work" --strip-components=5 --wildcards '*/models/templates/*.jinja'
  mkdir "$work/templates"
  mv "$work"/*.jinja "$work/templates"
  mv "$work/templates" "$target"
fi
echo "$target"
