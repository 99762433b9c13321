"""What a pause did to one rollout's calls, from the run's journal: prints it in a few words, and fails unless
each call was recorded once, arrived, and one at least was held.

    held.py CORISCO RUN ROLLOUT PAUSED RESUMED      the last two in seconds since 1970
"""
import json
import subprocess
import sys


def main(binary, run, rollout, paused, resumed):
    shown = subprocess.run([binary, "inspect", "--json", run, rollout], capture_output=True, text=True, check=True)
    calls = [call for call in json.loads(shown.stdout)["calls"] if call["state"] != "superseded"]
    held = {number: resumed - call["started_unix_seconds"] for number, call in enumerate(calls, 1)
            if paused < call["started_unix_seconds"] < resumed}
    prompts = {json.dumps(call["messages"], sort_keys=True) for call in calls}
    lost = [call["call"] for call in calls if call["state"] == "aborted" or not call["is_delivered"]]
    print(f"{len(calls)} calls;", ", ".join(f"call {number} held {seconds:.0f} s" for number, seconds in held.items())
          or "none held", end="")
    if len(prompts) < len(calls):
        print(f"; {len(calls) - len(prompts)} recorded twice", end="")
    if lost:
        print(f"; lost: {', '.join(map(str, lost))}", end="")
    return 0 if held and not lost and len(prompts) == len(calls) else 1


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit("usage: held.py CORISCO RUN ROLLOUT PAUSED RESUMED")
    sys.exit(main(*sys.argv[1:4], float(sys.argv[4]), float(sys.argv[5])))
