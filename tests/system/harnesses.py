"""Harness and reward functions that the system tests name in their configs."""
import os
import subprocess
import sys
import time

import openai


def ask(text, **options):
    reply = openai.OpenAI(max_retries=0).chat.completions.create(
        model="policy", messages=[{"role": "user", "content": text}], **options)
    return reply.choices[0].message.content


def run(task):
    """One call, with the seed and temperature that some agents always send."""
    ask(task["topic"], seed=42, temperature=0)


def two_turns(task):
    client = openai.OpenAI(max_retries=0)
    messages = [{"role": "user", "content": task["topic"]}]
    for _ in range(2):
        reply = client.chat.completions.create(model="policy", messages=messages)
        messages += [{"role": "assistant", "content": reply.choices[0].message.content},
                     {"role": "user", "content": "again"}]


def crash_at_once(task):
    raise RuntimeError("this harness never works")


def crash_after_a_call(task):
    ask(task["topic"])
    raise RuntimeError("planted")


def hang(task):
    ask(task["topic"])
    time.sleep(1000)


def many_processes(task):
    ask(task["topic"])
    for _ in range(4):
        subprocess.Popen(["sleep", "1000"])
    time.sleep(1000)


def leave_processes_behind(task):
    """A child in a session of its own and one that is forked twice, both deaf to SIGTERM; each writes down its pid."""
    script = ("import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
              "open(os.environ['CORISCO_TEST_PIDS'], 'a').write(f'{os.getpid()}\\n')\ntime.sleep(1000)")
    for code in (script, f"import os\nos.fork() and os._exit(0)\nos.setsid()\n{script}"):
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    ask(task["topic"])
    time.sleep(1000)


def low_bytes(task, rollout):
    """The share of the replies' characters that are ASCII: one call in each random reply raises it."""
    text = "".join(call["reply"] for call in rollout["calls"])
    return sum(character < "\x80" for character in text) / max(1, len(text))


def always_one(task, rollout):
    return 1.0


def not_a_number(task, rollout):
    return float("nan")


if __name__ == "__main__":
    import json

    run(json.load(open(os.environ["CORISCO_TASK"])))
    with open(os.environ["CORISCO_REWARD_FILE"], "w") as file:
        file.write("0.5")
