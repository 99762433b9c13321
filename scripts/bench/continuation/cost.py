"""What each turn of a conversation of 100 turns and 100,000 tokens takes the daemon: CPU, latency, memory and
journal, where each request goes on from the one before, and where its first message is edited so that none does.

usage: cost.py --daemon FILE --model FOLDER OUTPUT_FILE

The same daemon, script and bodies both times: the difference is what rendering and encoding everything costs.
A fresh daemon each time; its conversations run one after the other and stay open.
"""
import http.client
import json
import os
import pathlib
import random
import sys
import tempfile
import time

import servers

TURNS, TURN_TOKENS, REPLY_WORDS = 100, 1000, 60
WORDS = ("the a file line test value error return build path index token turn while over under print write read "
         "check second first result number folder change").split()


def words(source, count):
    return " ".join(source.choice(WORDS) for _ in range(count))


def cpu_seconds(pid):
    """Of all its threads, to the nanosecond."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks.iterdir()) / 1e9


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def journal_bytes(daemon):
    return daemon.metrics()["corisco_samples_journal_bytes_total"]


class Conversation:
    def __init__(self, daemon, seed, is_edited):
        self.daemon, self.source, self.is_edited = daemon, random.Random(seed), is_edited
        self.rollout = daemon.open_rollout(f"conversation {seed}")
        self.path = "/" + self.rollout["base_url"].split("/", 3)[3] + "/chat/completions"
        self.messages = [{"role": "system", "content": "Go on."}]
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)

    def turn(self, number):
        """One call: what it took."""
        if self.is_edited:
            self.messages[0]["content"] = f"Go on. {number}"
        self.messages.append({"role": "user", "content": words(self.source, TURN_TOKENS - REPLY_WORDS - 10)})
        body = json.dumps({"model": "policy", "messages": self.messages}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.rollout['api_key']}"}
        cpu, begin = cpu_seconds(self.daemon.pid), time.monotonic()
        self.connection.request("POST", self.path, body, headers)
        reply = self.connection.getresponse()
        raw = reply.read()
        latency = time.monotonic() - begin
        if reply.status != 200:
            raise SystemExit(f"turn {number}: {reply.status} {raw[:500]}")
        settle(self.daemon.pid)
        whole = json.loads(raw)
        self.messages.append({"role": "assistant", "content": whole["choices"][0]["message"]["content"]})
        return {"turn": number, "prompt_tokens": whole["usage"]["prompt_tokens"], "body_bytes": len(body),
                "latency_s": latency, "cpu_s": cpu_seconds(self.daemon.pid) - cpu}


def settle(pid):
    """Until the journal and what else follows a reply is done: 20 ms without work."""
    for _ in range(100):
        before = cpu_seconds(pid)
        time.sleep(0.02)
        if cpu_seconds(pid) - before < 0.0005:
            return


def run(options, is_edited, write):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        script = folder / "script.jsonl"
        script.write_text(json.dumps({"reply": words(random.Random(0), REPLY_WORDS)}) + "\n", encoding="utf-8")
        settings = {"model.path": options.model, "engine.script": script, "gateway.calls_per_attempt_max": 1000}
        with servers.Daemon(options.daemon, folder, settings) as daemon:
            Conversation(daemon, 0, is_edited).turn(1)                     # fills what is made once
            for seed in range(1, options.repeats + 1):
                conversation = Conversation(daemon, seed, is_edited)
                memory, journal = resident_bytes(daemon.pid), journal_bytes(daemon)
                for number in range(1, TURNS + 1):
                    line = conversation.turn(number)
                    write(line | {"memory_bytes": resident_bytes(daemon.pid) - memory, "edited": is_edited,
                                  "journal_bytes": journal_bytes(daemon) - journal, "repeat": seed})


def main():
    parser = servers.measurement(__doc__, "model")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    servers.exit_on_sigterm()
    with open(options.output, "w", encoding="utf-8") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")
            if line["turn"] % 20 == 0:
                print(f"turn {line['turn']}, {'edited' if line['edited'] else 'continued'}: "
                      f"{line['cpu_s'] * 1000:.1f} ms of CPU", file=sys.stderr, flush=True)
        for is_edited in (False, True):
            run(options, is_edited, write)


if __name__ == "__main__":
    main()
