"""Starts the real binary for a test, waits for its address, and makes sure that it ends."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

import yaml

BINARY = os.environ["CORISCO_BINARY"]


def deep_update(base, changes):
    for key, value in changes.items():
        base[key] = deep_update(base.get(key, {}), value) if isinstance(value, dict) else value
    return base


def write_config(folder, model, changes):
    """A config of a tiny run in folder, with changes merged in."""
    config = {"run": {"name": "tiny", "folder": str(folder / "runs")},
              "model": {"path": str(model), "threads": 1},
              "engine": {"kv_memory_mb": 16, "sequences_max": 32},
              "sampling": {"max_tokens": 16},
              "gateway": {"listen": "127.0.0.1:0"},
              "metrics": {"tensorboard": False}}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(deep_update(config, changes)))
    return path


def write_tasks(path, count=8, **fields):
    path.write_text("".join(json.dumps({"id": f"task-{index}", "topic": f"topic {index}", **fields}) + "\n"
                            for index in range(count)))
    return path


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Daemon:
    """`with Daemon(folder, config) as daemon:`; daemon.url is its address. environment: what it has besides ours."""

    def __init__(self, folder, config, *arguments, command="serve", environment=None):
        self.output = pathlib.Path(folder) / f"output-{time.monotonic_ns()}.txt"
        with open(self.output, "w") as out:
            self.process = subprocess.Popen([BINARY, command, str(config), *arguments], stdout=out, stderr=out,
                                            cwd=folder, env=os.environ | (environment or {}))

    def __enter__(self):
        wait_until(lambda: "serving http" in self.text() or self.process.poll() is not None, 60, "an address")
        found = re.search(r"serving (http://[0-9.]+:\d+)/v1", self.text())
        assert found, self.text()
        self.url = found.group(1)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def text(self):
        return self.output.read_text(errors="replace")

    def wait(self, seconds=120):
        """The exit status; fails with the output if it does not end in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s:\n{self.text()}")

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as reply:
            return reply.read().decode()

    def post(self, path, body=None, key=None, timeout=30):
        """(status, parsed reply)."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        request = urllib.request.Request(self.url + path, json.dumps(body or {}).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.status, json.loads(reply.read() or "null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or "null")

    def metric(self, line_start):
        """The sum of the samples whose line starts so."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics").splitlines() if line.startswith(line_start))


def run(folder, *arguments, timeout=120):
    """Runs a command of the binary to its end: (exit status, output)."""
    done = subprocess.run([BINARY, *map(str, arguments)], cwd=folder, timeout=timeout, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def updates_of(run_folder):
    lines = [json.loads(line) for line in (pathlib.Path(run_folder) / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line.get("kind") == "update"]


PYTHON = sys.executable
