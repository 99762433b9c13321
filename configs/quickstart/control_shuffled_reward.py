"""The control arm: the true rewards of a group, dealt out to its rollouts at random.

The mean and the spread of every group stay as they are and only the tie between a reply and its reward is
cut, so whatever rises under these rewards was not learned from them. Held-out tasks keep their own.

Siblings meet in a folder of the run: each leaves its reward there and waits for the rest. That needs all
siblings of a group running together and each training task drawn once in a run, as in the control's
config (see scripts/report/run_three_seeds.sh).
"""
import os
import pathlib
import random
import time

from reward import reward as true_reward

GROUP_SIZE = 8
WAIT_SECONDS = 500             # below rollouts.reward.seconds_max of that arm
LOOK_EVERY_SECONDS = 0.05


def dealt(rewards, seed):
    """The same rewards in an order drawn from seed."""
    order = list(rewards)
    random.Random(seed).shuffle(order)
    return order


def meet(folder, rollout, value):
    """All siblings' rewards by rollout, once there are GROUP_SIZE of them."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{rollout}"
    draft.write_text(repr(value))
    draft.rename(folder / str(rollout))
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        names = sorted((path.name for path in folder.iterdir() if not path.name.startswith(".")), key=int)
        if len(names) == GROUP_SIZE:
            return {int(name): float((folder / name).read_text()) for name in names}
        time.sleep(LOOK_EVERY_SECONDS)
    raise TimeoutError(f"only {len(names)} of {GROUP_SIZE} siblings came to {folder}")


def reward(task, rollout):
    value, note = true_reward(task, rollout)
    if task["id"].startswith("heldout-"):
        return value, note
    number = int(os.environ["CORISCO_ROLLOUT_ID"])
    run_folder = pathlib.Path(os.environ["CORISCO_TASK"]).parents[3]  # RUN/rollouts/ID/attempt-N/task.json
    siblings = meet(run_folder / "control" / task["id"], number, value)
    order = dealt(siblings.values(), seed=task["id"])
    return order[list(siblings).index(number)], f"dealt; its own was {value}"
