"""The source tree's own rules: include directions, generated pages, file lengths."""
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CHECK = SOURCE / "scripts" / "check_includes.py"


def check(root):
    return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)


def test_include_directions_hold():
    result = check(SOURCE)
    assert result.returncode == 0, result.stdout


def plant(tmp_path, file, line):
    for folder in ("src", "include"):
        shutil.copytree(SOURCE / folder, tmp_path / folder, ignore=shutil.ignore_patterns("target"))
    target = tmp_path / file
    target.write_text(line + "\n" + target.read_text())
    return check(tmp_path)


def test_a_planted_wrong_edge_fails(tmp_path):
    result = plant(tmp_path, "include/corisco/samples/merge.h", '#include "corisco/engine/engine.h"')
    assert result.returncode == 1
    assert "samples -> engine" in result.stdout


def test_torch_outside_its_modules_fails(tmp_path):
    result = plant(tmp_path, "src/samples/merge.cc", "#include <ATen/core/Tensor.h>")
    assert result.returncode == 1
    assert "may be included only in" in result.stdout


def test_reference_pages_are_up_to_date():
    for page in ("config", "metrics"):
        printed = subprocess.run([os.environ["CORISCO_BINARY"], "reference", page], capture_output=True, text=True, check=True)
        assert printed.stdout == (SOURCE / "docs" / f"{page}.md").read_text(), f"docs/{page}.md is stale: corisco reference {page}"


def test_files_are_not_too_long():
    long = [f"{path.relative_to(SOURCE)}: {count} lines" for folder in ("src", "include")
            for path in (SOURCE / folder).rglob("*") if path.suffix in (".h", ".cc", ".inc", ".rs")
            and (count := len(path.read_text().splitlines())) > 500]
    assert not long, long
