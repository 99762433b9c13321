#!/usr/bin/env bash
# For a machine with an NVIDIA GPU: builds the cuda preset, runs the golden tests of the model on the
# GPU, compares logits and replies of the real model with the CPU's, and trains a short quickstart
# there. Meant to take 5 minutes after the downloads.
source "$(dirname "$0")/common.sh"
command -v nvidia-smi >/dev/null && nvidia-smi -L || die "no NVIDIA GPU here (nvidia-smi finds none)"
"$CORISCO_SOURCE/scripts/fetch_cuda.sh" >/dev/null
"$CORISCO_SOURCE/scripts/build.sh" cuda corisco test_model print_logits
cd "$CORISCO_SOURCE"
say "the model's golden numbers, on the GPU"
CORISCO_TEST_DEVICE=cuda build/cuda/test_model --gtest_brief=1 --gtest_filter='*Golden*'
python=$(scripts/python_env.sh)
model=$(scripts/fetch_model.sh)
say "logits and greedy replies of the real model, GPU against CPU"
"$python" scripts/golden/compare_devices.py build/cuda/print_logits "$model"
say "a short quickstart on the GPU"
CORISCO_MODEL=$model CORISCO_PYTHON=$python build/cuda/corisco serve configs/quickstart/quickstart.yaml \
  --set model.device=cuda --set run.name=gpu-check --set run.updates=10
