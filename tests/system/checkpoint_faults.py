"""Ends the daemon at each call of a checkpoint's saving that changes a file, or makes that call fail, then
resumes the run: it must find the newest whole checkpoint and end bit for bit as the undisturbed run does.

As a program: checkpoint_faults.py [--every 1] [--kinds kill half ENOSPC EIO]
"""
import argparse
import collections
import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import kill_sweep
import tiny_model

KINDS = ["kill", "half", "ENOSPC", "EIO"]
# What may fail without harm to the save: deleting an older checkpoint, making a folder that is there.
HARMLESS = ["unlink", "mkdir"]


def compile_shim(folder):
    library = pathlib.Path(folder) / "faults.so"
    source = kill_sweep.HERE / "faults.c"
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def is_whole(folder):
    """As its manifest says; an own reading of it."""
    if not (folder / "manifest.json").is_file():
        return False
    manifest = json.loads((folder / "manifest.json").read_text())
    return all((folder / file["name"]).is_file() and (folder / file["name"]).stat().st_size == file["bytes"] and
               kill_sweep.sha256(folder / file["name"]) == file["sha256"] for file in manifest["files"])


class FaultSweep:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.model = tiny_model.write(self.folder / "model")
        self.library = compile_shim(self.folder)
        self.counts, self.failures = collections.Counter(), []

    def life(self, folder, settings):
        environment = {f"CORISCO_FAULT_{name}": str(value) for name, value in settings.items()}
        if settings:
            environment |= {"LD_PRELOAD": str(self.library), "CORISCO_FAULT_PATH": "/checkpoints/"}
        config = kill_sweep.tiny_run(folder, self.model)
        return kill_sweep.Life(folder, config, folder / "runs/tiny", environment=environment)

    def reference(self):
        folder = self.folder / "reference"
        folder.mkdir()
        life = self.life(folder, {"LOG": folder / "calls"})
        assert life.end() == 0, life.text()[-3000:]
        self.expected = kill_sweep.picture(folder / "runs/tiny")
        self.calls = [line.split(" ", 2)[1:] for line in (folder / "calls").read_text().splitlines()]
        return self.calls

    def point(self, number, kind):
        """The number-th call meets this fault; returns what went wrong, in words."""
        name, path = self.calls[number - 1]
        if kind == "half" and name != "write":
            return []
        self.counts[kind, name] += 1
        folder = self.folder / f"{kind}-{number}"
        folder.mkdir()
        run_folder = folder / "runs/tiny"
        is_death = kind in ("kill", "half")
        life = self.life(folder, {"AT": number, "KIND": kind if is_death else getattr(errno, kind)})
        status = life.end()
        troubles = self.after_death(status) if is_death else self.after_error(status, life.text(), name, kind)
        steps = run_folder.glob("checkpoints/step-*")
        troubles += [f"{step.name} is not whole" for step in steps if not is_whole(step)]
        again = self.life(folder, {})
        if (status := again.end()) != 0:
            troubles.append(f"resumed, it ended with {status}:\n{again.text()[-1500:]}")
        else:
            troubles += kill_sweep.differences(self.expected, kill_sweep.picture(run_folder))
        troubles += [f"{aside.name} was left behind" for aside in run_folder.glob("checkpoints/tmp-*")]
        if troubles:
            self.failures.append((number, kind))
            print(f"call {number}, {name} {path}, {kind}:", *troubles, sep="\n  ", flush=True)
        else:
            shutil.rmtree(folder)
        return troubles

    @staticmethod
    def after_death(status):
        return [] if status == -9 else [f"the fault did not end it: {status}"]

    def after_error(self, status, text, name, kind):
        """It goes on and names the error; only a run without its last checkpoint fails."""
        last_failed = "the last checkpoint could not be written" in text
        troubles = [] if status == (1 if last_failed else 0) else [f"exit status {status}:\n{text[-1500:]}"]
        is_named = os.strerror(getattr(errno, kind)) in text and "checkpoint" in text
        if name not in HARMLESS and not is_named:
            troubles.append(f"the error is not named:\n{text[-1500:]}")
        return troubles

    def table(self):
        rows = [f"{kind:8} {name:10} {count:6}" for (kind, name), count in sorted(self.counts.items())]
        points = f"{sum(self.counts.values())} points of {len(self.calls)} calls"
        return "\n".join(["fault    call        points", *rows, f"{points}, {len(self.failures)} went wrong"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="take each n-th call")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--keep", help="an empty folder for what goes wrong")
    options = parser.parse_args()
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="checkpoint-faults-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sweep = FaultSweep(folder)
    calls = sweep.reference()
    for kind in options.kinds:
        for number in range(1, len(calls) + 1, options.every):
            sweep.point(number, kind)
        print(f"{kind}: {len(sweep.failures)} went wrong so far", flush=True)
    print(sweep.table())
    if not sweep.failures and not options.keep:
        shutil.rmtree(folder)
    return 1 if sweep.failures else 0


if __name__ == "__main__":
    sys.exit(main())
