"""Kills the daemon with SIGKILL at random moments, resumes the run until it ends, and compares it with one
that was never killed: in synchronous, deterministic mode with a deterministic harness every file of the last
checkpoint and every update's line must be the same bit for bit.

As a program: kill_sweep.py [--points 500] [--seed 1] [--keep FOLDER]
Kills land at a moment drawn uniformly over a life, or shortly after an event: a checkpoint's folder appears,
an update is drained, trained or published. The table at the end says where they fell.
"""
import argparse
import collections
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
os.environ.setdefault("CORISCO_BINARY", str(SOURCE / "build/release/corisco"))
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import tiny_model
from daemon import BINARY, PYTHON, updates_of, write_config, write_tasks

UPDATES = 5
LIFE_SECONDS_MAX = 120
PROCESSES_GONE_SECONDS = 5   # much less on an idle machine
PR_SET_CHILD_SUBREAPER = 36
# Measured by the clock, so never the same twice.
TIMES = ["unix_seconds", "tokens_per_second", "generating_seconds", "draining_seconds", "training_seconds",
         "publishing_seconds", "left_seconds", "seconds"]
EVENTS = ["saving", "draining", "training", "publishing"]
AGENT = HERE / "deterministic_agent.py"
REWARD_OF_EVERY_SECOND = {"source": "python", "python": f"{AGENT}:reward_of_every_second"}
# Runs that come to a restart with different things at hand.
VARIANTS = {
    "a checkpoint every second update": {},
    "a checkpoint at the end alone": {"trainer__checkpoint_every": 0},
    "every second update skipped": {"rollouts__groups_per_update": 1, "run__updates": 8, "rollouts__shuffle": False,
                                    "trainer__checkpoint_every": 3, "rollouts__reward": REWARD_OF_EVERY_SECOND},
    # What an update takes depends on the clock here: checked are its end, its ages and its accounts.
    "asynchronous": {"coordinator__mode": "collocated_async", "coordinator__policy_age_max": 1,
                     "rollouts__groups_active_max": 4, "run__updates": 8},
}


def tiny_run(folder, model, **changes):
    """The config of a run of UPDATES updates that takes a second or two."""
    write_tasks(folder / "tasks.jsonl", 6)
    write_tasks(folder / "heldout.jsonl", 2)
    config = {"run": {"updates": UPDATES, "log_level": "debug"},
              "engine": {"deterministic": True},
              "sampling": {"max_tokens": 6},
              "rollouts": {"tasks": str(folder / "tasks.jsonl"), "group_size": 2, "groups_per_update": 2,
                           "seconds_max": 60,
                           "harness": {"python": f"{AGENT}:run", "python_interpreter": PYTHON},
                           "reward": {"source": "python", "python": f"{AGENT}:reward"}},
              "evaluation": {"tasks": str(folder / "heldout.jsonl")},
              "trainer": {"learning_rate": 0.003, "schedule": "linear", "warmup_updates": 1, "checkpoint_every": 2}}
    for key, value in changes.items():
        module, name = key.split("__")
        config.setdefault(module, {})[name] = value
    return write_config(folder, model, config)


class Processes:
    """`with Processes() as ours:` descendants whose parents die become this process's children, so none is
    overlooked whatever session or group it is in."""

    def __enter__(self):
        self.before = set(self.children())
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return self

    def __exit__(self, *_):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    @staticmethod
    def children():
        text = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        return [int(pid) for pid in text.split()]

    def survivors(self):
        """Those that live PROCESSES_GONE_SECONDS after their daemon's death; they are ended here."""
        deadline = time.monotonic() + PROCESSES_GONE_SECONDS
        while True:
            alive = []
            for pid in set(self.children()) - self.before:
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    alive.append(pid)
            if not alive or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        named = [f"{pid} {pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()[:200]}" for pid in alive]
        for pid in alive:
            os.kill(pid, 9)
        return named


class Life:
    """One process of a run, from its start to its end or its killing."""

    def __init__(self, folder, config, run_folder, arguments=(), environment=None):
        self.run_folder = pathlib.Path(run_folder)
        self.output = pathlib.Path(folder) / f"life-{time.monotonic_ns()}.txt"
        resume = ["--resume"] if self.run_folder.exists() else []
        self.started = time.monotonic()
        with open(self.output, "w") as out:
            self.process = subprocess.Popen([BINARY, "serve", str(config), *resume, *arguments], stdout=out,
                                            stderr=out, cwd=folder, env=os.environ | (environment or {}))

    def text(self):
        return self.output.read_text(errors="replace")

    def seconds(self):
        return time.monotonic() - self.started

    def is_saving(self):
        return any(self.run_folder.glob("checkpoints/tmp-*"))

    def phase(self):
        """Where it is, or was when it was killed."""
        if self.is_saving():
            return "saving"
        text = self.text()
        if "serving http" not in text:
            return "starting up"
        phases = re.findall(r"phase \w+ -> (\w+)", text)
        is_evaluated = "evaluation at version" in text
        if phases and phases[-1] == "generating" and not re.search(r"^update ", text, re.M) and not is_evaluated:
            return "first evaluation or rollouts"
        return phases[-1] if phases else "starting up"

    def saw(self, event):
        return self.is_saving() if event == "saving" else f"-> {event}" in self.text()

    def wait_for(self, moment):
        """Until the moment to kill; False if the process ended before."""
        event, delay = moment
        deadline = self.started + LIFE_SECONDS_MAX
        while event is not None and not self.saw(event):
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < deadline, f"no end after {LIFE_SECONDS_MAX} s:\n{self.text()[-3000:]}"
            time.sleep(0.0005)
        at = (self.started if event is None else time.monotonic()) + delay
        while time.monotonic() < at:
            if self.process.poll() is not None:
                return False
            time.sleep(min(0.002, max(0.0, at - time.monotonic())))
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self, seconds_max=LIFE_SECONDS_MAX):
        try:
            return self.process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"no end after {seconds_max} s"


def draw_moment(random_numbers, life_seconds):
    """(event or None for the process's start, seconds after it)."""
    if random_numbers.random() < 0.6:
        return None, random_numbers.uniform(0, life_seconds)
    return random_numbers.choice(EVENTS), random_numbers.uniform(0, 0.03)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checkpoint_files(run_folder):
    """{name: hash} of every file of the newest checkpoint; nothing in it depends on the clock."""
    folders = sorted(pathlib.Path(run_folder).glob("checkpoints/step-*"))
    assert folders, f"no checkpoint in {run_folder}"
    files = [path for path in sorted(folders[-1].rglob("*")) if path.is_file()]
    return {str(path.relative_to(folders[-1])): sha256(path) for path in files}


def lines_by_step(run_folder):
    """The last line of each kind and step: an update made again after a kill has a line again."""
    lines = {}
    for text in (pathlib.Path(run_folder) / "metrics.jsonl").read_text().splitlines():
        line = json.loads(text)
        if line["kind"] != "header":
            lines[f"{line['kind']} {line['step']}"] = {key: value for key, value in line.items() if key not in TIMES}
    return lines


@functools.cache
def can_inspect():
    return "inspect" in subprocess.run([BINARY, "--help"], capture_output=True, text=True).stdout


def account_problems(run_folder):
    """What is wrong with the accounts that `corisco inspect` gives of an ended run, in words."""
    if not can_inspect():
        return []
    done = subprocess.run([BINARY, "inspect", str(run_folder), "--json"], capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        return [f"inspect: {done.stderr[-1000:]}"]
    accounts = json.loads(done.stdout)["accounts"]
    words = [f"inspect: {problem}" for problem in accounts["problems"]]
    for unit in ("calls", "tokens"):
        produced = accounts["produced"][unit]
        dropped = sum(count[unit] for count in accounts["dropped"].values())
        gone = accounts["trained"][unit] + accounts["waiting"][unit] + dropped
        if produced != gone:
            words.append(f"{produced} {unit} were produced and {gone} have a fate: {accounts}")
        if accounts["waiting"][unit]:
            words.append(f"{accounts['waiting'][unit]} {unit} still wait at the end")
    return words


def picture(run_folder):
    return {"checkpoint": checkpoint_files(run_folder), "lines": lines_by_step(run_folder)}


def differences(expected, found):
    """In words; none if the runs are the same."""
    words = []
    for part in expected:
        for name in sorted(expected[part].keys() | found[part].keys()):
            was, is_now = expected[part].get(name), found[part].get(name)
            if was == is_now:
                continue
            if isinstance(was, dict) and isinstance(is_now, dict):
                keys = {key for key in was.keys() | is_now.keys() if was.get(key) != is_now.get(key)}
                was, is_now = ({key: value.get(key) for key in sorted(keys)} for value in (was, is_now))
            words.append(f"{part}: {name}: {was} became {is_now}")
    return words


def lines_made(lines):
    """Their names; the version that the run ends with, which is not known before if an update may have nothing to
    learn from, by that word."""
    last = max((line["policy_version"] for line in lines.values() if line["kind"] == "update"), default=0)
    return sorted("evaluation at the end" if name == f"evaluation {last}" else name for name in lines)


def inexact_problems(expected, found):
    """Of an asynchronous run: that it made the same updates, none with rollouts past the age of one version."""
    made = lines_made(found["lines"])
    words = [] if made == lines_made(expected["lines"]) else [f"it has the lines {made}"]
    return words + [f"{name}: {line}" for name, line in found["lines"].items() if line.get("policy_age_max", 0) > 1]


class Sweep:
    """Runs that are killed and resumed, all of one variant."""

    def __init__(self, folder, model, variant, seed=1):
        self.folder, changes = pathlib.Path(folder), VARIANTS[variant]
        self.config_of = lambda run: tiny_run(run, model, **changes)
        self.compare = inexact_problems if variant == "asynchronous" else differences
        self.random = random.Random(seed)
        self.kills = collections.Counter()
        self.failures = []
        self.num_runs = 0

    @staticmethod
    def run_folder(folder):
        return folder / "runs/tiny"

    def reference(self):
        """The run that nothing disturbs; also measures how long a life is."""
        folder = self.folder / "reference"
        folder.mkdir()
        life = Life(folder, self.config_of(folder), self.run_folder(folder))
        assert life.end() == 0, life.text()[-3000:]
        self.life_seconds = life.seconds()
        self.expected = picture(self.run_folder(folder))

    def run_once(self, kills_max):
        """One run with up to kills_max kills, then left alone until it ends."""
        self.num_runs += 1
        folder = self.folder / f"run-{self.num_runs}"
        folder.mkdir()
        config = self.config_of(folder)
        where, troubles = [], []
        with Processes() as ours:
            for _ in range(kills_max):
                life = Life(folder, config, self.run_folder(folder))
                if not life.wait_for(draw_moment(self.random, self.life_seconds)):
                    break
                life.kill()
                where.append(life.phase())
                survivors = ours.survivors()
                if survivors:
                    troubles.append(f"alive after the kill in {where[-1]}: {survivors}")
            else:
                life = Life(folder, config, self.run_folder(folder))
            status = life.end()
            troubles += [f"alive after its end: {survivors}" for survivors in [ours.survivors()] if survivors]
        troubles += self.verdict(status, life, folder)
        self.kills.update(where)
        if troubles:
            self.failures.append((folder, where, troubles))
            print(f"{folder.name}, killed in {', '.join(where)}:", *troubles, sep="\n  ", flush=True)
        else:
            shutil.rmtree(folder)
        return not troubles

    def verdict(self, status, life, folder):
        if status != 0:
            return [f"exit status {status}:\n{life.text()[-1500:]}"]
        run_folder = self.run_folder(folder)
        return self.compare(self.expected, picture(run_folder)) + account_problems(run_folder)

    def run(self, points):
        while self.num_points() < points:
            self.run_once(self.random.randint(1, 5))

    def num_points(self):
        return sum(self.kills.values())

    def table(self):
        rows = [f"{phase:30} {count:6}" for phase, count in self.kills.most_common()]
        return "\n".join(["killed while it was           times", *rows,
                          f"{self.num_points()} kills of {self.num_runs} runs, {len(self.failures)} runs went wrong"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=500, help="kills to make")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="an empty folder for what goes wrong")
    options = parser.parse_args()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="kill-sweep-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    model = tiny_model.write(folder / "model")
    num_wrong = 0
    for number, name in enumerate(VARIANTS):
        own = folder / f"variant-{number}"
        own.mkdir()
        sweep = Sweep(own, model, name, options.seed + number)
        sweep.reference()
        print(f"\n{name}: the undisturbed run takes {sweep.life_seconds:.1f} s", flush=True)
        sweep.run(options.points // len(VARIANTS))
        print(sweep.table(), flush=True)
        num_wrong += len(sweep.failures)
    if num_wrong:
        print(f"what went wrong is in {folder}")
    elif not options.keep:
        shutil.rmtree(folder)
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
