"""Agents started by preset, from the config to the reward, with a script in the model's place."""
import os
import pathlib
import sys
import tempfile

import pytest
import yaml
from daemon import deep_update, run

SCRIPTED = pathlib.Path(__file__).parents[2] / "configs/scripted.yaml"
CACHE = pathlib.Path(os.environ.get("CORISCO_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "corisco")
INSTALLED = CACHE / "agents/bin"
PROGRAMS = {"mini-swe-agent": "mini", "openhands": "openhands", "opencode": "opencode", "claude-code": "claude",
            "codex": "codex", "qwen-code": "qwen"}

# What is put in Codex's place: it takes the prompt and the address as Codex would, and does one turn.
STAND_IN = """#!{python}
import json, os, subprocess, sys
import openai
settings = dict(word.split("=", 1) for word in sys.argv if "=" in word)
home = os.environ["HOME"]
assert os.listdir(home) == [] and os.environ["CODEX_HOME"] == home, home
assert sys.argv[-2:] == ["--", "Write hello"], sys.argv
open(home + "/state", "w").close()
client = openai.OpenAI(base_url=json.loads(settings["model_providers.corisco.base_url"]))
parameters = {{"type": "object", "properties": {{"cmd": {{"type": "string"}}}}}}
tool = {{"type": "function", "name": "exec_command", "parameters": parameters}}
reply = client.responses.create(model=json.loads(settings["model"]), input=sys.argv[-1], tools=[tool])
calls = [item for item in reply.output if item.type == "function_call"]
subprocess.run(json.loads(calls[0].arguments)["cmd"], shell=True, check=True)
"""


def config_of(folder, preset):
    config = yaml.safe_load(SCRIPTED.read_text())
    tasks = folder / "tasks.jsonl"
    tasks.write_text('{"id": "hello", "what": "Write hello"}\n')
    deep_update(config, {
        "run": {"folder": str(folder / "runs")},
        "model": {"path": str(SCRIPTED.parent / config["model"]["path"])},
        "engine": {"script": str(SCRIPTED.parent / config["engine"]["script"])},
        "gateway": {"listen": "127.0.0.1:0"},
        "rollouts": {"tasks": str(tasks), "seconds_max": 240,
                     "harness": {"preset": preset, "prompt": "{task.what}"},
                     "reward": {"source": "command",
                                "command": ["sh", "-c", 'test "$(cat hello.txt)" = hello && echo 1 || echo 0']}}})
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def attempt_of(folder):
    return next((folder / "runs").glob("*-try/rollouts/*/attempt-1"))


def try_task(folder, preset):
    status, output = run(folder, "try", config_of(folder, preset), timeout=300)
    assert status == 0, output
    assert "outcome completed" in output and "reward  1.0000" in output, output
    attempt = attempt_of(folder)
    assert (attempt / "work/hello.txt").read_text() == "hello\n"
    assert not (attempt / "home").exists()


def test_a_preset_starts_its_program_in_a_home_of_its_own(tmp_path, monkeypatch):
    program = tmp_path / "bin/codex"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    try_task(tmp_path, "codex")


def test_a_missing_program_is_told_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, output = run(tmp_path, "try", config_of(tmp_path, "opencode"))
    assert status == 2
    assert "scripts/agents/install.sh opencode" in output, output


@pytest.mark.parametrize("preset", PROGRAMS)
def test_the_real_agent_does_its_task(preset, monkeypatch):
    if not (INSTALLED / PROGRAMS[preset]).exists():
        pytest.skip(f"scripts/agents/install.sh {preset} was not run")
    monkeypatch.setenv("PATH", f"{INSTALLED}:{os.environ['PATH']}")
    # pytest's folders are too deep for the socket of OpenHands's terminal.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        try_task(pathlib.Path(folder), preset)
