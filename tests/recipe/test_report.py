"""The report on runs: means, paired bounds and the picture, from run folders made by hand."""
import json
import pathlib
import sys
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "report"))
import run_files  # noqa: E402
import summarise  # noqa: E402
import svg_curve  # noqa: E402


def rollout(task, kind, reward):
    task = {"id": task, "kind": kind, "turns": ["Say it."]}
    return {"version": 0, "task": task, "reward": reward, "note": "",
            "outcome": "completed", "calls": [{"reply": "A reply."}]}


@pytest.fixture
def run_folder(tmp_path):
    kinds = {"a": "x", "b": "x", "c": "y", "d": "y"}
    before = [rollout(task, kinds[task], reward) for task, reward in zip("abcd", (0.0, 0.25, 0.0, None))]
    after = [rollout(task, kinds[task], reward) for task, reward in zip("abcd", (1.0, 0.25, 0.5, 1.0))]
    for name, rollouts in (("evaluation-0", before), ("evaluation-10", after), ("evaluation-9", before)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rollouts))
    curve = [{"format": 1}] + [{"kind": "update", "reward_mean": value} for value in (0.1, 0.2, 0.6)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in curve))
    return tmp_path


def test_versions_are_ordered_by_number_and_failed_rollouts_are_left_out(run_folder):
    assert list(run_files.evaluations(run_folder)) == [0, 9, 10]
    before, after = run_files.before_and_after(run_folder)
    first, _, difference = summarise.paired(before, after)
    assert difference == {"a": 1.0, "b": 0.0, "c": 0.5}      # d has no reward before
    line = summarise.summary_line("run", before, after)
    assert "0.08 -> 0.58, difference +0.50" in line          # (0 + 0.25 + 0) / 3 and (1 + 0.25 + 0.5) / 3
    assert "3 tasks" in line and "d" not in first


def test_kind_table(run_folder):
    table = summarise.kind_table([run_files.before_and_after(run_folder)])
    assert "| x | 0.12 | 0.62 | +0.50 |" in table
    assert "| y | 0.00 | 0.50 | +0.50 |" in table


def test_lower_bound():
    assert summarise.lower_bound([0.3] * 20) == pytest.approx(0.3)
    # 100 differences of 0 or 1, half each: mean 0.5, standard error 0.05, bound near 0.5 - 1.96 * 0.05.
    assert summarise.lower_bound([0.0, 1.0] * 50) == pytest.approx(0.402, abs=0.02)


def test_curve_is_a_picture_with_each_value(run_folder):
    picture = svg_curve.draw({"seed-1": run_files.update_curve(run_folder)}, "update", "reward")
    lines = xml.etree.ElementTree.fromstring(picture).findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.get("points").split()) for line in lines] == [3, 3]
    assert svg_curve.running_mean([1.0, 3.0, 8.0], width=2) == [1.0, 2.0, 5.5]


def test_one_evaluation_is_not_enough(tmp_path):
    (tmp_path / "evaluation-0.jsonl").write_text("")
    with pytest.raises(SystemExit, match="before and one after"):
        run_files.evaluations(tmp_path)
