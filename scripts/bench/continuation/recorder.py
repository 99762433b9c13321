"""Runs real agents on the scripted tasks and keeps what they send: a file per rollout.

usage: recorder.py --daemon FILE --forms FOLDER [--agents NAME,...] [--tasks NAME,...] OUTPUT_FOLDER

What OUTPUT_FOLDER holds already stays. Agents and clients are those of scripts/agents/install.sh; one that is
not there is left out by name. Between each and the daemon a proxy on loopback writes down bodies and replies,
in the order of beginnings and ends.
"""
import argparse
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import forms
import servers
import turns

SOURCE = servers.HERE.parents[2]
AGENTS = pathlib.Path(os.environ.get("CORISCO_CACHE") or pathlib.Path.home() / ".cache/corisco") / "agents"
PROGRAMS = {"mini-swe-agent": "mini", "mini-text": "mini", "openhands": "openhands", "opencode": "opencode",
            "claude-code": "claude", "codex": "codex", "qwen-code": "qwen"}
SECONDS_MAX = 900                                # of one rollout
HOP_HEADERS = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class Recording:
    """One rollout's calls: requests, replies, and the order in which they began and ended."""

    def __init__(self):
        self.lock, self.calls, self.order = threading.Lock(), [], []

    def begin(self, method, path, body):
        with self.lock:
            self.calls.append({"method": method, "path": path, "request": body, "reply": "", "status": 0})
            self.order.append(["begin", len(self.calls) - 1])
            return len(self.calls) - 1

    def end(self, index, status, reply):
        with self.lock:
            self.calls[index].update(status=status, reply=reply)
            self.order.append(["end", index])


class Proxy(http.server.ThreadingHTTPServer):
    """Passes everything on to the daemon as it comes; recordings by the rollout in the path."""
    daemon_threads = True

    def __init__(self, upstream_port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream_port, self.recordings = upstream_port, {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def recording(self, path):
        for prefix, recording in self.recordings.items():
            if path.startswith(prefix):
                return recording, path.removeprefix(prefix)
        return None, path


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        recording, path = self.server.recording(self.path)
        is_kept = recording is not None and self.command == "POST"
        index = recording.begin(self.command, path, body.decode("utf-8")) if is_kept else 0
        status, reply = 0, b""
        try:
            status, reply = self.forward(body)
        finally:
            if is_kept:
                recording.end(index, status, reply.decode("utf-8", "replace"))

    def forward(self, body):
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream_port, timeout=SECONDS_MAX)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_HEADERS}
        reply, parts = None, []
        try:
            upstream.request(self.command, self.path, body, headers)
            reply = upstream.getresponse()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in HOP_HEADERS:
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while part := reply.read1(65536):
                parts.append(part)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        except (ConnectionError, BrokenPipeError):
            self.close_connection = True         # the agent has left
        finally:
            upstream.close()
        return reply.status if reply else 0, b"".join(parts)

    do_GET = do_POST = do_HEAD = pass_on


def command_of(task, base_url, folder):
    """How the task's agent is started, and with what environment beside PATH."""
    run = [SOURCE / "scripts/agents/run.sh", task.agent, base_url, "policy", folder, task.prompts[0]]
    if task.agent == "own-loop":
        conversations = [task.prompts]
        if task.name == "beta":                  # takes turns with a second one
            conversations.append([prompt.replace("own-loop-beta", "own-loop-alpha") for prompt in task.prompts])
        return [AGENTS / "clients/bin/python", servers.HERE / "own_loop.py", base_url, "policy",
                json.dumps(conversations)], {}
    if task.agent == "mini-text":
        return [AGENTS / "bin/mini", "-c", "mini_textbased.yaml", "-c", "model.model_class=litellm_textbased",
                "--model=openai/policy", f"--task={task.prompts[0]}", "--yolo", "--exit-immediately"], {
                    "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "LANG": "C.UTF-8",
                    "MSWEA_GLOBAL_CONFIG_DIR": folder, "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                    "OPENAI_API_BASE": base_url + "/v1"}
    return run, {"CORISCO_CACHE": AGENTS.parent}


def run_agent(options, task, base_url, key, folder):
    """The exit status."""
    command, more = command_of(task, base_url, folder)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KEY": key, "OPENAI_API_KEY": key,
                   "CORISCO_BINARY": str(options.daemon)} | {name: str(value) for name, value in more.items()}
    work = folder / "work"
    work.mkdir()
    with open(options.output / f"{task.id}.log", "w", encoding="utf-8") as out:
        process = subprocess.Popen([str(word) for word in command], cwd=work, env=environment, stdout=out,
                                   stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)            # a group of its own: what it started goes with it
            return process.wait()


def record(options, daemon, proxy, task):
    rollout, begin = daemon.open_rollout(task.id), time.monotonic()
    prefix = "/" + rollout["base_url"].split("/", 3)[3].removesuffix("/v1")
    recording = proxy.recordings[prefix] = Recording()
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as folder:   # short: a socket's path has a limit
        status = run_agent(options, task, f"http://127.0.0.1:{proxy.server_address[1]}{prefix}", rollout["api_key"],
                           pathlib.Path(folder))
    del proxy.recordings[prefix]
    daemon.finish(rollout)
    with open(options.output / f"{task.id}.json", "w", encoding="utf-8") as file:
        json.dump({"agent": task.agent, "task": task.id, "calls": recording.calls, "order": recording.order}, file)
    print(f"{task.id}: exit status {status}, {len(recording.calls)} requests, {time.monotonic() - begin:.0f} s",
          file=sys.stderr, flush=True)


def is_installed(agent):
    path = AGENTS / "bin" / PROGRAMS[agent] if agent in PROGRAMS else AGENTS / "clients/bin/python"
    if not path.exists():
        print(f"{agent} is left out: {path} is missing; see scripts/agents/install.sh", file=sys.stderr)
    return path.exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", type=pathlib.Path, required=True)
    parser.add_argument("--forms", type=pathlib.Path, required=True)
    parser.add_argument("--agents", default=",".join(turns.AGENTS))
    parser.add_argument("--tasks", default="alpha,beta,gamma")
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    servers.exit_on_sigterm()
    options.output = options.output.absolute()
    options.output.mkdir(parents=True, exist_ok=True)
    wanted = [agent for agent in options.agents.split(",") if is_installed(agent)]
    forms.write("qwen3", options.output / "script.jsonl")
    settings = {"model.path": (options.forms / "qwen3").absolute(), "engine.script": options.output / "script.jsonl"}
    with servers.Daemon(options.daemon.absolute(), options.output / "daemon", settings) as daemon:
        proxy = Proxy(daemon.port)
        for task in sorted(turns.tasks(), key=lambda task: task.name):
            is_done = (options.output / f"{task.id}.json").exists()
            if task.agent in wanted and task.name in options.tasks.split(",") and not is_done:
                record(options, daemon, proxy, task)


if __name__ == "__main__":
    main()
