#!/usr/bin/env bash
# Unpacks libtorch (from the torch wheel) and the two small CUDA libraries that its CPU half links
# to into the cache, once per version. Prints the folder.
source "$(dirname "$0")/common.sh"
target=$CORISCO_CACHE/libtorch-$TORCH_VERSION
lock "$CORISCO_CACHE/libtorch.lock"
if [ ! -e "$target/complete" ]; then
  say "fetching libtorch $TORCH_VERSION into $target (530 MB download)"
  wheels=$(mktemp -d); trap 'rm -rf "$wheels" "$target.part"' EXIT
  fetch_wheels "$wheels" <<'LIST'
torch==2.11.0 7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a
nvidia-cuda-runtime==13.0.96 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cupti==13.0.85 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
LIST
  rm -rf "$target.part" "$target"; mkdir -p "$target.part"
  for wheel in "$wheels"/*.whl; do
    python3 -m zipfile -e "$wheel" "$target.part"
  done
  find "$target.part/nvidia" -name 'libcudart.so*' -exec cp {} "$target.part/torch/lib/" \;
  find "$target.part/nvidia" -name 'libcupti.so*' -exec cp {} "$target.part/torch/lib/" \;
  touch "$target.part/complete"
  mv "$target.part" "$target"
fi
echo "$target"
