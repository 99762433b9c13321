"""Reads what a run leaves in its folder: the evaluations' rollouts and the updates' curve."""
import json
import pathlib
import re


def json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def evaluations(folder):
    """{policy version: evaluation rollouts}, in the order of versions."""
    found = {}
    for path in pathlib.Path(folder).glob("evaluation-*.jsonl"):
        number = re.fullmatch(r"evaluation-(\d+)\.jsonl", path.name)
        if number:
            found[int(number[1])] = json_lines(path)
    if len(found) < 2:
        raise SystemExit(f"{folder}: needs an evaluation before and one after training, has {len(found)}")
    return dict(sorted(found.items()))


def before_and_after(folder):
    found = list(evaluations(folder).values())
    return found[0], found[-1]


def reward_of(rollout):
    """A rollout that the machine failed has none, and counts as nothing rather than as 0."""
    return None if rollout["reward"] is None else float(rollout["reward"])


def rewards_by_task(rollouts):
    """{task id: mean reward over its repeats}"""
    values = {}
    for rollout in rollouts:
        reward = reward_of(rollout)
        if reward is not None:
            values.setdefault(rollout["task"]["id"], []).append(reward)
    return {task: sum(rewards) / len(rewards) for task, rewards in values.items()}


def kinds_by_task(rollouts):
    return {rollout["task"]["id"]: rollout["task"]["kind"] for rollout in rollouts}


def update_curve(folder):
    """Mean training reward of each update."""
    lines = json_lines(pathlib.Path(folder) / "metrics.jsonl")
    return [line["reward_mean"] for line in lines if line.get("kind") == "update"]
