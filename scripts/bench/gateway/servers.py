"""Starts the servers that are compared, each on the core that is theirs, and ends them by their ids."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
SERVER_CORE, LOAD_CORE = "0", "1"
LITELLM_KEY = "sk-" + "0123456789abcdef" * 3   # it refuses to start without one
START_SECONDS_MAX = 120


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def request(port, method, path, body=None, key=None):
    """(status, body) of one call."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


class Server:
    """A server on loopback. It stands still (SIGSTOP) while another is measured."""

    def __init__(self, name, command, port, folder, ready="/", core=SERVER_CORE, environment=None):
        self.name, self.port = name, port
        self.path, self.key = "/v1/chat/completions", None
        self._ready = ready
        self.log = folder / f"{name.replace(' ', '-')}.log"
        with open(self.log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(["taskset", "-c", core, *map(str, command)], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, cwd=folder, env=os.environ | (environment or {}))
        self.pid = self.process.pid    # taskset becomes the server

    def wait(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended at its start; its log ends:\n{self.log.read_text()[-3000:]}")
            try:
                if request(self.port, "GET", self._ready)[0] == 200:
                    return self
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name} did not answer within {START_SECONDS_MAX} s; see {self.log}")
            time.sleep(0.1)

    def stand_still(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_idle(self):
        """Until it has caught up with what its timers want; for five seconds at most."""
        for _ in range(25):
            before = self.cpu_seconds()
            time.sleep(0.2)
            if self.cpu_seconds() - before < 0.015:   # a tick of the kernel's clock or none
                return

    def end(self):
        if self.process.poll() is not None:
            return
        self.go_on()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def echo(options, name, folder, core, *arguments):
    port = free_port()
    program = options.programs / "bench_gateway_echo"
    return Server(name, [program, "--port", port, *arguments], port, folder, core=core)


def daemon(options, name, folder, tokens_per_second, overrides=None):
    port = free_port()
    settings = {"gateway.listen": f"127.0.0.1:{port}", "run.folder": folder / "runs",
                "run.name": name.replace(" ", "-"), "engine.script_tokens_per_second": tokens_per_second}
    command = [options.daemon, "serve", HERE / "daemon.yaml"]
    for key, value in (settings | (overrides or {})).items():
        command += ["--set", f"{key}={value}"]
    return Server(name, command, port, folder, "/healthz")


def agent_lightning(options, folder, upstream_port):
    """The whole server, as its console script starts it; a rollout and the model server are registered."""
    port = free_port()
    command = [options.peers / "agentlightning/bin/agl-server", "host=127.0.0.1", f"port={port}",
               "default_proxy.model_name=scripted", f"hydra.run.dir={folder}", "hydra.output_subdir=null"]
    server = Server("Agent Lightning", command, port, folder, "/healthz").wait()
    for path, body in (("/api/rollouts", {"rollout_id": "bench", "input": {}}),
                       ("/api/models", {"model": "scripted", "endpoint": f"http://127.0.0.1:{upstream_port}/v1"})):
        status, reply = request(port, "POST", path, [body])
        if status != 201:
            raise SystemExit(f"Agent Lightning answered {path} with {status}: {reply[:500]}")
    server.path = "/proxy/rollout/bench/attempt/0/mode/train/openai/v1/chat/completions"
    return server


def litellm(options, folder, upstream_port):
    """The proxy, as its console script starts it: one worker, no database."""
    port = free_port()
    environment = {"LITELLM_MASTER_KEY": LITELLM_KEY, "UPSTREAM_URL": f"http://127.0.0.1:{upstream_port}/v1",
                   "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    command = [options.peers / "litellm/bin/litellm", "--config", HERE / "litellm.yaml", "--host", "127.0.0.1",
               "--port", port]
    server = Server("LiteLLM", command, port, folder, "/health/liveliness", environment=environment)
    server.key = LITELLM_KEY
    return server
