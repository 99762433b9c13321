#!/usr/bin/env bash
# Trains the quickstart with three seeds and once with the rewards of each group dealt out at random,
# one after another, then prints the summary. Takes about an hour on two cores.
# Usage: run_three_seeds.sh [FOLDER]; FOLDER must not hold such runs yet.
source "$(dirname "$0")/../common.sh"
folder=$(realpath -m "${1:-$CORISCO_SOURCE/runs/report}")
here=$CORISCO_SOURCE/scripts/report
"$CORISCO_SOURCE/scripts/build.sh" release corisco
python=$("$CORISCO_SOURCE/scripts/python_env.sh")
model=$("$CORISCO_SOURCE/scripts/fetch_model.sh")
export CORISCO_MODEL=$model CORISCO_PYTHON=$python
cd "$CORISCO_SOURCE"
train() {  # NAME FURTHER-ARGUMENTS
  local name=$1; shift
  [ ! -e "$folder/$name" ] || die "$folder/$name exists; give another folder"
  say "training $name"
  build/release/corisco serve configs/quickstart/quickstart.yaml \
    --set run.folder="$folder" --set run.name="$name" --set gateway.listen=127.0.0.1:0 "$@"
}
for seed in 1 2 3; do train "seed-$seed" --set run.seed="$seed"; done
train control --set run.seed=1 --set rollouts.reward.python=control_shuffled_reward.py:reward \
  --set rollouts.reward.seconds_max=600
"$python" "$here/constant_reply.py"
"$python" "$here/summarise.py" --svg "$folder/reward.svg" --control "$folder/control" \
  "$folder/seed-1" "$folder/seed-2" "$folder/seed-3"
say "log-probability under the initial model: logprob_under_initial.py $model $folder/seed-*"
