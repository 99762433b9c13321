"""What the peers' workers share: one JSON command a line on standard input, one answer a line on standard output,
as worker.cc has it."""
import json
import os
import sys
import time


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def timed(call, *arguments):
    begin = time.perf_counter()
    call(*arguments)
    return {"seconds": time.perf_counter() - begin}


def serve(worker):
    """worker has prefill(ids), start(prompts), decode(steps) and stop()."""
    out, sys.stdout = sys.stdout, sys.stderr      # what libraries print is no answer

    def say(answer):
        out.write(json.dumps(answer) + "\n")
        out.flush()
    say({})
    for line in sys.stdin:
        command = json.loads(line)
        match command["op"]:
            case "prefill":
                say(timed(worker.prefill, command["ids"]))
            case "start":
                say(timed(worker.start, command["prompts"]))
            case "decode":
                say(timed(worker.decode, command["steps"]))
            case "memory":
                say({"resident_bytes": resident_bytes()})
            case "stop":
                worker.stop()
                say({})
            case other:
                say({"error": f"unknown op {other}"})
