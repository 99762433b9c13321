"""The quickstart, shortened to about three minutes of two cores, killed ten times at random moments and resumed.
It must end as it should: all updates made once, its held-out reward printed, no process left behind, every
sampled token accounted for.

Needs CORISCO_MODEL and CORISCO_PYTHON, as scripts/quickstart.sh sets them.
Usage: quickstart_killed.py [--kills 10] [--seed 1] [--keep FOLDER]
"""
import argparse
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

import kill_sweep
from daemon import updates_of

CONFIG = kill_sweep.SOURCE / "configs/quickstart/quickstart.yaml"
UPDATES, HELD_OUT = 10, 8
LIFE_SECONDS = (0.5, 11)   # starting takes about three


def arguments(folder):
    heldout = (CONFIG.parent / "heldout.jsonl").read_text().splitlines(keepends=True)
    (folder / "heldout.jsonl").write_text("".join(heldout[:HELD_OUT]))
    settings = {"run.folder": folder / "runs", "run.updates": UPDATES, "run.log_level": "debug",
                "rollouts.groups_per_update": 2, "rollouts.group_size": 4, "trainer.checkpoint_every": 2,
                "evaluation.tasks": folder / "heldout.jsonl", "gateway.listen": "127.0.0.1:0"}
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def made(run_folder):
    """The updates that have a line."""
    has_lines = (run_folder / "metrics.jsonl").exists()
    return {line["update"] for line in updates_of(run_folder)} if has_lines else set()


def problems(status, text, run_folder):
    if status != 0:
        return [f"exit status {status}:\n{text[-2000:]}"]
    found = []
    if made(run_folder) != set(range(1, UPDATES + 1)):
        found.append(f"updates {sorted(made(run_folder))} instead of 1 to {UPDATES}")
    if not re.search(r"^held-out reward \d\.\d\d -> \d\.\d\d$", text, re.M):
        found.append(f"no held-out reward at the end:\n{text[-500:]}")
    return found + kill_sweep.account_problems(run_folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="an empty folder that stays")
    options = parser.parse_args()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="quickstart-killed-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chance, run_folder, given = random.Random(options.seed), folder / "runs/quickstart", arguments(folder)
    found, num_kills, started = [], 0, time.monotonic()
    with kill_sweep.Processes() as ours:
        while True:
            life = kill_sweep.Life(folder, CONFIG, run_folder, given)
            wanted = num_kills < options.kills
            if not wanted or not life.wait_for((None, chance.uniform(*LIFE_SECONDS))):
                break
            life.kill()
            num_kills += 1
            where = f"after {life.seconds():.1f} s while {life.phase()}"
            print(f"kill {num_kills} {where}, {len(made(run_folder))} updates made", flush=True)
            found += [f"alive after kill {num_kills}: {survivors}" for survivors in [ours.survivors()] if survivors]
        status = life.end(600)
    found += problems(status, life.text(), run_folder)
    if num_kills < options.kills:
        found.append(f"it ended after {num_kills} kills")
    print(*found, sep="\n")
    verdict = "something went wrong" if found else "a correct end"
    print(f"{num_kills} kills, {time.monotonic() - started:.0f} s: {verdict}")
    if not found and not options.keep:
        shutil.rmtree(folder)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
