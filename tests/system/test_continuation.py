"""Conversations that real agents had with the daemon, with their own words left out (scripts/bench/continuation/
corpus.py), sent again to models that write calls in several forms: which of them stay one row, and why not.
"""
import collections
import os
import pathlib
import shutil
import sys

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
BENCH = SOURCE / "scripts/bench/continuation"
sys.path.insert(0, str(BENCH))

import corpus  # noqa: E402
import forms  # noqa: E402
import replay  # noqa: E402
import rows  # noqa: E402
import servers  # noqa: E402

CONVERSATIONS = pathlib.Path(__file__).with_name("conversations.jsonl")
SPLITS = "corisco_gateway_split_calls_total"

# What agents do that makes another prompt of what was sampled, whatever stands between. Nothing else splits.
BY_THE_AGENT = {
    "openhands-alpha": {"reasoning_dropped": 6},     # it sends no reasoning back; beta has none
    "openhands-gamma": {"reasoning_dropped": 7},
    "openai-chat-alpha": {"reasoning_dropped": 6},   # its loop keeps text and calls alone
    "claude-code-gamma": {"reply_changed": 1},       # it reads "\u00e9" in a command as the letter
    "mini-swe-agent-gamma": {"history_dropped": 1},  # it leaves out a turn without a call
    "mini-text-gamma": {"history_dropped": 1},
    "own-loop-beta": {"new_conversation": 1},        # two conversations that take turns
    # Before its first turn it asks for a title, which makes no row.
    "opencode-alpha": {"history_dropped": 1},
    "opencode-beta": {"history_dropped": 1},
    "opencode-gamma": {"history_dropped": 1},
}


def splits(daemon):
    found = {name: value for name, value in daemon.metrics().items() if name.startswith(SPLITS)}
    return collections.Counter({name.split('"')[1]: int(value) for name, value in found.items()})


def write_model(folder, form):
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SOURCE / "configs/scripted" / name, folder)
    shutil.copy(BENCH / f"templates/{form}.jinja", folder / "chat_template.jinja")
    return folder


@pytest.mark.parametrize("form", ["hermes", "qwen3_coder"])
def test_a_row_begins_only_where_the_agent_made_another_prompt(form, tmp_path):
    forms.write(form, tmp_path / "script.jsonl")
    settings = {"model.path": write_model(tmp_path / "model", form), "engine.script": tmp_path / "script.jsonl"}
    found = {}
    with servers.Daemon(os.environ["CORISCO_BINARY"], tmp_path, settings) as daemon:
        for recording in corpus.read(CONVERSATIONS):
            task, before = recording["task"], splits(daemon)
            done = replay.replay(daemon, recording)
            assert not done["failures"] and len(done["calls"]) == len(recording["calls"]), (task, done["failures"])
            causes = splits(daemon) - before
            # What is said to go on has its predecessor's exact tokens, drawn ones that no text encodes to included.
            assert len(set(rows.of_longest_match(done["calls"]).values())) == causes.total(), (task, causes)
            found[task] = dict(causes - collections.Counter(first=1))
    assert len(found) == 30
    assert {task: causes for task, causes in found.items() if causes} == BY_THE_AGENT
