"""The presets that no script builds still configure, and instrument what they say."""
import json
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("preset, option", [
    ("dev", "-O0"), ("asan", "-fsanitize=address,undefined"), ("tsan", "-fsanitize=thread")])
def test_a_preset_configures(preset, option, tmp_path):
    done = subprocess.run(["cmake", "--preset", preset, "-B", str(tmp_path / "build")], cwd=SOURCE, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    own = [one["command"].split() for one in commands if one["file"].startswith(str(SOURCE / "src"))]
    assert len(own) > 100 and all(option in command for command in own)
