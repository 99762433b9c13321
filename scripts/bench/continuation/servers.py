"""Starts a daemon on loopback for a measurement, talks to it, and ends it by its id."""
import argparse
import http.client
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS_MAX = 300


def exit_on_sigterm():
    """So that a daemon ends with us."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))


def measurement(description, *folders):
    """The parser of a measurement: the daemon and folders as absolute paths, and the file that it writes."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for name in ("daemon", *folders):
        parser.add_argument(f"--{name}", type=lambda text: pathlib.Path(text).absolute(), required=True)
    parser.add_argument("output")
    return parser


def request(port, method, path, body=None, headers=None, timeout=120):
    """(status, body) of one call."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"} | (headers or {}))
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


class Daemon:
    """`with Daemon(binary, folder, settings) as daemon`; settings are config keys."""

    def __init__(self, binary, folder, settings):
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "daemon.log"
        command = [str(binary), "serve", str(HERE / "daemon.yaml")]
        for key, value in ({"gateway.listen": "127.0.0.1:0", "run.folder": folder / "runs"} | settings).items():
            command += ["--set", f"{key}={value}"]
        with open(self.log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder)
        self.pid = self.process.pid
        self.runs = folder / "runs"

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            text = self.log.read_text(errors="replace")
            if found := re.search(r"serving http://127\.0\.0\.1:(\d+)/v1", text):
                self.port = int(found.group(1))
                return self
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise SystemExit(f"the daemon did not start; its log ends:\n{text[-2000:]}")
            time.sleep(0.05)

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def open_rollout(self, task_id):
        """{rollout_id, attempt, base_url, api_key, ...}"""
        status, reply = request(self.port, "POST", "/admin/rollouts", {"task": {"id": task_id}})
        if status not in (200, 201):
            raise SystemExit(f"a rollout could not be opened: {status} {reply[:500]}")
        return json.loads(reply)

    def finish(self, rollout):
        request(self.port, "POST", rollout["reward_url"].split(f":{self.port}", 1)[1],
                {"event_type": "reward", "data": {"value": 1.0}}, {"Authorization": f"Bearer {rollout['api_key']}"})
        request(self.port, "POST", f"/admin/rollouts/{rollout['rollout_id']}/attempt/{rollout['attempt']}/finish", b"")

    def calls(self, rollout):
        """(prompt ids, sampled ids) of the calls of a rollout that is open, in the order of their requests."""
        path = f"/api/rollouts/{rollout['rollout_id']}/events?event_type=model_request"
        status, reply = request(self.port, "GET", path)
        if status != 200:
            raise SystemExit(f"{path}: {status} {reply[:500]}")
        events = sorted(json.loads(reply), key=lambda event: event["timestamp"])
        replies = [event["data"]["response"] for event in events]
        return [(reply["prompt_token_ids"], reply["choices"][0]["token_ids"]) for reply in replies]

    def metrics(self):
        """{name with labels: value}"""
        _, text = request(self.port, "GET", "/metrics")
        lines = [line for line in text.decode().splitlines() if line and line[0] != "#"]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
