"""The quickstart's own config, harness and rewards through the real daemon, a tiny model in the real one's place."""
import hashlib
import json
import pathlib
import re

import pytest
from daemon import BINARY, PYTHON, run, updates_of

RECIPE = pathlib.Path(__file__).parents[2] / "configs" / "quickstart"
CONFIG = RECIPE / "quickstart.yaml"


@pytest.fixture
def quickstart(model, tmp_path, monkeypatch):
    """quickstart(COMMAND, ARGUMENTS, key=value, ...) runs it in tmp_path; a key's dots are written as __."""
    monkeypatch.setenv("CORISCO_MODEL", str(model))
    monkeypatch.setenv("CORISCO_PYTHON", PYTHON)

    def start(command, *arguments, **settings):
        settings = {"run__folder": str(tmp_path / "runs"), "model__threads": 1, "model__dtype": "float32",
                    "engine__kv_memory_mb": 16, "gateway__listen": "127.0.0.1:0", **settings}
        overrides = [word for key, value in settings.items()
                     for word in ("--set", f"{key.replace('__', '.')}={json.dumps(value)}")]
        status, output = run(tmp_path, command, CONFIG, *arguments, *overrides)
        assert status == 0, output
        return output

    return start


def sampled_ids(output):
    """The ids that `corisco try` shows, a list per call."""
    return [[int(number) for number in re.findall(r'^  ".*" +(\d+)  +-?\d+\.\d+$', reply, re.MULTILINE)]
            for reply in output.split("--- reply (token, id, log-probability)")[1:]]


def test_the_harness_is_a_function_or_a_plain_command(quickstart):
    as_function = quickstart("try", "train-capitals-0")
    as_command = quickstart("try", "train-capitals-0", rollouts__harness__python="",
                            rollouts__harness__command=[PYTHON, "{config_folder}/harness.py"])
    for output in (as_function, as_command):
        assert re.search(r"^outcome (completed|truncated) ", output, re.MULTILINE), output
        assert re.search(r"^reward  \d\.\d{4}", output, re.MULTILINE), output
    ids, = sampled_ids(as_function)
    assert 0 < len(ids) <= 24                                  # sampling.max_tokens
    assert sampled_ids(as_command) == [ids]                    # a rollout's draws don't depend on what asks for them


def test_a_manifest_says_what_ran(quickstart, model, tmp_path):
    quickstart("try", run__seed=5)
    manifest = json.loads((tmp_path / "runs/quickstart-try/manifest.json").read_text())
    assert manifest["seed"] == 5 and manifest["format"] == 1 and manifest["corisco"]
    hashes = {manifest[f"{what}_sha256"] for what in ("binary", "config", "tasks", "heldout")}
    assert len(hashes) == 4 and all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)
    assert manifest["binary_sha256"] == hashlib.sha256(pathlib.Path(BINARY).read_bytes()).hexdigest()
    assert manifest["model_files"].keys() >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert manifest["model_files"]["model.safetensors"]["bytes"] == (model / "model.safetensors").stat().st_size
    assert {file["file"] for file in manifest["harness_files"].values()} == {"harness.py", "reward.py"}
    assert manifest["packages"]["libtorch"] and manifest["packages"]["compiler"]
    assert manifest["hardware"]["cores"] > 0 and "threads, float32" in manifest["hardware"]["capability"]


def test_siblings_of_the_control_meet(quickstart, tmp_path):
    quickstart("serve", run__updates=1, rollouts__groups_per_update=1, trainer__warmup_updates=0, evaluation__tasks="",
               rollouts__reward__python="control_shuffled_reward.py:reward")
    assert len(updates_of(tmp_path / "runs/quickstart")) == 1
    task, = (tmp_path / "runs/quickstart/control").iterdir()
    assert {path.name for path in task.iterdir()} == {str(number) for number in range(1, 9)}
