#!/usr/bin/env bash
# For a machine with an NVIDIA GPU: builds the cuda preset, runs the correctness tests of the model,
# engine and trainer on the GPU, and a short quickstart there. About 5 minutes after the downloads.
source "$(dirname "$0")/common.sh"
command -v nvidia-smi >/dev/null && nvidia-smi -L || die "no NVIDIA GPU here (nvidia-smi finds none)"
"$CORISCO_SOURCE/scripts/fetch_cuda.sh" >/dev/null
"$CORISCO_SOURCE/scripts/build.sh" cuda
cd "$CORISCO_SOURCE"
for module in model engine trainer; do
  say "tests of $module, tensors on the GPU"
  CORISCO_TEST_DEVICE=cuda build/cuda/test_$module --gtest_brief=1
done
python=$(scripts/python_env.sh)
model=$(scripts/fetch_model.sh)
say "a short quickstart on the GPU"
CORISCO_MODEL=$model CORISCO_PYTHON=$python build/cuda/corisco serve configs/quickstart/quickstart.yaml \
  --set model.device=cuda --set run.name=gpu-check --set run.updates=10
