"""What a person sees of a run: its first lines, a line per update, a bar on a terminal, the end by a second signal."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

from daemon import BINARY, PYTHON, Daemon, alive, run, updates_of, wait_until, write_tasks
from test_training import HARNESSES, training

BAR = re.compile(r"\r\x1b\[K\[[#.]{30}\] +\d+ %  [a-z]+")
UPDATE = re.compile(
    r"^update (\d+)/2  version (\d+)  reward (\d\.\d{3})  groups (\d+) \(\d+ constant\)  (\d+) tokens/s  "
    r"generating (\d+\.\d) s  draining \d+\.\d s  training \d+\.\d s  left \d+ (?:s|min \d\d s)$", re.MULTILINE)


def test_piped_output_is_plain_lines_with_the_numbers_of_the_log(model, tmp_path):
    status, output = run(tmp_path, "serve", training(tmp_path, model, run__updates=2))
    assert status == 0 and "\r" not in output and "\x1b" not in output, output
    start = output[:output.index("update 1/2")]
    assert re.search(r"^corisco: model \S+ \(.*\d threads, (float32|bfloat16)\)$", start, re.MULTILINE), start
    assert re.search(r"^corisco: serving http://127\.0\.0\.1:\d+/v1  metrics http://\S+/metrics$", start, re.MULTILINE)
    assert re.search(r"^corisco: estimate up to \d+ (s|min)", start, re.MULTILINE), start
    shown, logged = UPDATE.findall(output), updates_of(tmp_path / "runs/tiny")
    assert len(shown) == len(logged) == 2, output
    for (update, version, reward, groups, tokens, generating), line in zip(shown, logged):
        assert (int(update), int(version), int(groups)) == (line["update"], line["policy_version"], line["groups"])
        assert abs(float(reward) - line["reward_mean"]) <= 0.0006
        assert abs(int(tokens) - line["tokens_per_second"]) <= 0.6
        assert abs(float(generating) - line["generating_seconds"]) <= 0.06


def on_a_terminal(arguments, folder, seconds=120):
    """(exit status, what it wrote) of the binary with a terminal as its output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.DEVNULL, cwd=folder)
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + seconds
    try:
        while select.select([ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (part := os.read(ours, 65536)):
                break
            shown += part
    except OSError:                        # the last one that could write is gone
        pass
    finally:
        os.close(ours)
    try:
        return process.wait(10), shown.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def test_a_terminal_gets_a_bar_that_makes_room_for_each_line(model, tmp_path):
    status, shown = on_a_terminal(["serve", training(tmp_path, model, run__updates=2)], tmp_path)
    assert status == 0, shown
    assert BAR.search(shown), shown
    lines = [line.rsplit("\x1b[K", 1)[-1] for line in shown.split("\r\n")]
    assert sum(bool(UPDATE.match(line)) for line in lines) == 2, shown
    assert any(line.startswith("done: 2 updates in ") for line in lines), shown


def test_a_second_signal_ends_at_once_and_leaves_nothing(model, tmp_path):
    pids = tmp_path / "pids"
    config = training(tmp_path, model, rollouts__harness={
        "python": f"{HARNESSES}:leave_processes_behind", "python_interpreter": PYTHON,
        "env": {"CORISCO_TEST_PIDS": str(pids)}})
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= 16, 60, "all children")
        daemon.process.send_signal(signal.SIGTERM)
        # The first one waits a second for harnesses that are deaf to SIGTERM.
        wait_until(lambda: "a second one ends the process at once" in daemon.text(), 5, "the first signal was seen")
        time.sleep(0.1)
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.wait(2) == 130
        children = [int(pid) for pid in pids.read_text().split()]
        wait_until(lambda: not any(alive(pid) for pid in children), 1.5, "every process is gone")


def test_a_checkpoint_evaluates_as_its_run_ended(model, tmp_path):
    config = training(tmp_path, model, run__updates=2, engine__deterministic=True,
                      evaluation__tasks=str(write_tasks(tmp_path / "heldout.jsonl", 4)))
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    checkpoint, = (tmp_path / "runs/tiny/checkpoints").glob("step-*")
    status, output = run(tmp_path, "eval", config, "--checkpoint", checkpoint)
    assert status == 0, output

    def replies(file):
        lines = [json.loads(line) for line in (tmp_path / "runs" / file).read_text().splitlines()]
        return [(call["token_ids"], call["sampled_logprobs"]) for line in lines for call in line["calls"]]

    assert replies("tiny-eval/evaluation-0.jsonl") == replies("tiny/evaluation-2.jsonl")
    assert replies("tiny/evaluation-0.jsonl") != replies("tiny/evaluation-2.jsonl")
