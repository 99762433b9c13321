"""What became of one rollout's calls, from the run's journal: prints it in a few words, and fails unless each call
was recorded once and arrived.

    held.py CORISCO RUN ROLLOUT [--paused SECONDS RESUMED_SECONDS] [--trained]
    held.py CORISCO RUN      the run's accounts instead: fails unless they balance

--paused: since 1970; one call at least must have been held. --trained: each call must have been trained once, in one
update, unless it is a call beside the task.
"""
import argparse
import collections
import json
import subprocess
import sys

UNTRAINED_BY_INTENT = {"side"}


def inspected(binary, run, *rollout):
    """(what `corisco inspect` says, whether it found the accounts in order)."""
    shown = subprocess.run([binary, "inspect", "--json", run, *rollout], capture_output=True, text=True, check=False)
    if not shown.stdout.strip():
        sys.exit(f"held.py: {shown.stderr.strip() or 'corisco inspect says nothing'}")
    return json.loads(shown.stdout), shown.returncode == 0


def held_words(calls, paused, resumed):
    """(words, problems) of who waited."""
    held = {number: resumed - call["started_unix_seconds"] for number, call in enumerate(calls, 1)
            if paused < call["started_unix_seconds"] < resumed}
    if not held:
        return [], ["none held"]
    return [f"call {number} held {seconds:.0f} s" for number, seconds in held.items()], []


def trained_words(rollout, calls):
    """(words, problems) of where the calls that stand were trained. A place is a row and where it begins in it."""
    trained = [call for call in calls if call["dropped"] is None]
    left_out = collections.Counter(call["dropped"] for call in calls if call["dropped"] is not None)
    places = collections.Counter((call["branch"], call["row_begin"]) for call in trained)
    problems = [f"{times} calls in one place of a row" for times in places.values() if times > 1]
    problems += [f"call {call['call']} has no row" for call in trained if call["branch"] is None]
    problems += [f"{count} not trained: {reason}" for reason, count in left_out.items()
                 if reason not in UNTRAINED_BY_INTENT]
    if trained and rollout["fate"] != "trained":
        return [], [*problems, f"{len(trained)} not trained: {rollout['fate'] or 'not ended'}"]
    words = [f"{len(trained)} trained once, in version {rollout['trained_in_version']}"] if trained else []
    if not trained:
        problems.append("none trained")
    words += [f"{count} {reason}" for reason, count in left_out.items() if reason in UNTRAINED_BY_INTENT]
    return words, problems


def account(rollout, paused=None, is_trained=False):
    """(words, problems) of a rollout as `corisco inspect` gives it; paused: (from, to) or None."""
    superseded = [call for call in rollout["calls"] if call["state"] == "superseded"]
    calls = [call for call in rollout["calls"] if call["state"] != "superseded"]
    words, problems = [f"{len(calls)} calls"], []
    if superseded:
        words.append(f"{len(superseded)} superseded")
    for more_words, more_problems in ([held_words(calls, *paused)] if paused else []) + (
            [trained_words(rollout, calls)] if is_trained else []):
        words += more_words
        problems += more_problems
    prompts = {json.dumps(call["messages"], sort_keys=True) for call in calls}
    if len(prompts) < len(calls):
        problems.append(f"{len(calls) - len(prompts)} recorded twice")
    lost = [str(call["call"]) for call in calls if call["state"] == "aborted" or not call["is_delivered"]]
    if lost:
        problems.append(f"lost: {', '.join(lost)}")
    if is_trained:
        problems += [f"superseded call {call['call']} is trained" for call in superseded if call["dropped"] is None]
    return words, problems


def accounts_words(run):
    accounts = run["accounts"]
    dropped = accounts["dropped"]
    reasons = ", ".join(f"{reason} {count['calls']}" for reason, count in dropped.items())
    return (f"{accounts['produced']['calls']} calls = {accounts['trained']['calls']} trained + "
            f"{accounts['waiting']['calls']} waiting + {sum(count['calls'] for count in dropped.values())} dropped"
            f"{f' ({reasons})' if reasons else ''}")


def main(arguments):
    if arguments.rollout is None:
        run, balances = inspected(arguments.corisco, arguments.run)
        print(accounts_words(run), *run["accounts"]["problems"], sep="; ", end="")
        return 0 if balances and run["accounts"]["balance"] else 1
    rollout, _ = inspected(arguments.corisco, arguments.run, arguments.rollout)
    words, problems = account(rollout, arguments.paused, arguments.trained)
    print(*words, *problems, sep="; ", end="")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corisco")
    parser.add_argument("run")
    parser.add_argument("rollout", nargs="?")
    parser.add_argument("--paused", nargs=2, type=float)
    parser.add_argument("--trained", action="store_true")
    sys.exit(main(parser.parse_args()))
