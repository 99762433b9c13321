"""Measures the gateway and its peers in turn, repeated, and prints the table; see run.sh.

usage: bench.py --daemon FILE --programs FOLDER --peers FOLDER --model FOLDER OUTPUT_FOLDER

One server is measured at a time while the others stand still, so that each has its core to itself. The
proxies' model server is the bare server again, on the load's core, where it takes a hundredth of what
they take. Each run's line goes into OUTPUT_FOLDER/runs.jsonl.
"""
import argparse
import collections
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import servers
import table

RATE = 50                                          # tokens a second of each stream
SLOW_RATE = 2                                      # of 2,000 streams, whose tokens one core can write
Measure = collections.namedtuple("Measure", "name arguments servers")
ALL = ("bare", "gateway", "Agent Lightning", "LiteLLM")
CROWD = f"streams --connections 256 --tokens 150 --rate {RATE} --seconds 12"
MEASURES = [
    Measure("alone", "small --connections 1 --seconds 2", ALL),
    Measure("full", "small --connections 32 --seconds 3", ALL),
    Measure("first byte", "small --stream --connections 1 --seconds 1.5", ("bare", "gateway", "LiteLLM")),
    Measure("8 streams", f"streams --connections 8 --tokens 100 --rate {RATE} --seconds 8",
            ("bare", "gateway at 50", "LiteLLM")),
    Measure("256 streams", CROWD, ("bare", "gateway at 50")),
    Measure("large", "large --connections 1 --seconds 2",
            ("bare", "gateway with tokenizer", "Agent Lightning", "LiteLLM")),
]
# Once, at the end: how much memory connections take; and streams that LiteLLM goes on with, for a minute,
# after their readers have left.
LAST = [
    Measure("held", "held --hold --connections 2000 --tokens 8 --waves 3 --seconds 40", ("gateway",)),
    Measure("streaming", "held --connections 2000 --tokens 8 --waves 3 --seconds 40", ("gateway at 2",)),
    Measure("256 streams", CROWD, ("LiteLLM",)),
]


class Bench:
    def __init__(self, options):
        self.options, self.servers, self.lines = options, {}, []
        self.folder = options.output
        self.raw = open(self.folder / "runs.jsonl", "w", encoding="utf-8")

    def add(self, server):
        self.servers[server.name] = server
        return server

    def start(self):
        folder, options = self.folder, self.options
        for name, rate in (("gateway", 0), ("gateway at 50", RATE), ("gateway at 2", SLOW_RATE)):
            self.add(servers.daemon(options, name, folder, rate)).wait()
        self.add(servers.daemon(options, "gateway with tokenizer", folder, 0, {"model.path": options.model})).wait()
        sizes = reply_sizes(self.servers["gateway"].port, self.servers["gateway at 50"].port)
        arguments = ["--reply-bytes", sizes["reply"], "--frame-bytes", sizes["event"], "--tokens-per-second", RATE]
        self.add(servers.echo(options, "bare", folder, servers.SERVER_CORE, *arguments)).wait()
        self.upstream = servers.echo(options, "model server", folder, servers.LOAD_CORE, *arguments).wait()
        self.add(servers.agent_lightning(options, folder, self.upstream.port))
        self.add(servers.litellm(options, folder, self.upstream.port)).wait()
        for server in self.servers.values():
            for _ in range(20):                    # what a server imports or fills at its first calls
                status, reply = servers.request(server.port, "POST", server.path, chat(max_tokens=1), server.key)
                if status != 200:
                    raise SystemExit(f"{server.name} answers with {status}: {reply[:500]}")
            server.stand_still()

    def run(self, measure, name, repeat):
        server, begin = self.servers[name], time.monotonic()
        command = ["taskset", "-c", servers.LOAD_CORE, self.options.programs / "bench_gateway_load",
                   *measure.arguments.split(), "--port", server.port, "--path", server.path, "--pid", server.pid]
        if server.key:
            command += ["--key", server.key]
        server.go_on()
        server.wait_until_idle()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
        server.stand_still()
        if done.returncode != 0:
            raise SystemExit(f"{measure.name} of {name}: {done.stderr}")
        self.keep({"measure": measure.name, "server": name, "repeat": repeat} | json.loads(done.stdout))
        print(f"{measure.name}, {name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def keep(self, line):
        self.lines.append(line)
        self.raw.write(json.dumps(line) + "\n")
        self.raw.flush()

    def run_all(self):
        for repeat in range(self.options.repeats):
            for measure in MEASURES:
                turn = repeat % len(measure.servers)           # each begins once
                for name in measure.servers[turn:] + measure.servers[:turn]:
                    self.run(measure, name, repeat)
        for measure in LAST:
            self.run(measure, measure.servers[0], 0)
        command = ["taskset", "-c", servers.SERVER_CORE, self.options.programs / "bench_gateway_tokenise",
                   self.options.model]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        self.keep({"measure": "tokenise", "server": "tokenizer", "repeat": 0} | json.loads(done.stdout))

    def end(self):
        for server in [*self.servers.values(), *([self.upstream] if hasattr(self, "upstream") else [])]:
            server.end()


def chat(**more):
    return {"model": "scripted", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64} | more


def reply_sizes(port, port_at_rate):
    """Bytes of the gateway's whole reply and of the event of one token, for the bare server to equal."""
    _, whole = servers.request(port, "POST", "/v1/chat/completions", chat())
    _, stream = servers.request(port_at_rate, "POST", "/v1/chat/completions", chat(stream=True))
    events = stream.replace(b'"content":""', b"").split(b"\n\n")
    lengths = [len(event) + 2 for event in events if b'"content":"' in event]
    return {"reply": len(whole), "event": statistics.mode(lengths)}


def whole_path(text):
    return pathlib.Path(text).absolute()           # servers run in the output folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("daemon", "programs", "peers", "model"):
        parser.add_argument(f"--{name}", type=whole_path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("output", type=whole_path)
    bench = Bench(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))   # and the servers with it
    try:
        bench.start()
        bench.run_all()
    finally:
        bench.end()
    print(table.of(bench.lines))


if __name__ == "__main__":
    main()
