"""What a run keeps when the daemon is killed, and what it refuses when it goes on."""
import json
import random
import re
import shutil

import kill_sweep
import pytest
import yaml
from daemon import Daemon, run, updates_of, wait_until


@pytest.mark.parametrize("variant,points", [
    ("a checkpoint every second update", 4), ("a checkpoint at the end alone", 3), ("every second update skipped", 4),
    ("asynchronous", 2)])
def test_a_killed_run_ends_as_one_that_was_left_alone(model, tmp_path, variant, points):
    sweep = kill_sweep.Sweep(tmp_path, model, variant, seed=7)
    sweep.reference()
    sweep.run(points)
    assert sweep.num_points() >= points and not sweep.failures, sweep.failures
    print(sweep.table())


def logged_run(tmp_path, model, **changes):
    """A run whose harnesses write down each start and end."""
    log = tmp_path / "log"
    log.touch()
    harness = {"python": f"{kill_sweep.AGENT}:run_and_tell", "python_interpreter": kill_sweep.PYTHON,
               "env": {"CORISCO_TEST_LOG": str(log)}}
    config = kill_sweep.tiny_run(tmp_path, model, rollouts__harness=harness, rollouts__group_size=4, run__updates=1,
                                 rollouts__groups_per_update=1, evaluation__tasks="", **changes)
    return config, lambda: [json.loads(line) for line in log.read_text().splitlines()]


def test_finished_rollouts_of_an_unfinished_group_are_trained_not_run_again(model, tmp_path):
    config, events = logged_run(tmp_path, model, rollouts__processes_max=1)
    finished = 'corisco_rollouts_finished_total{mode="train",outcome='
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: daemon.metric(finished) >= 2, 30, "two finished rollouts")
        daemon.process.kill()
        daemon.process.wait()
    before = events()
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 0, output
    again = {event["rollout"] for event in events()[len(before):] if event["event"] == "start"}
    ended = {event["rollout"] for event in before if event["event"] == "end"}
    num_kept = int(re.search(r"1 unfinished ones, with (\d) finished rollouts", output).group(1))
    # The second end may have been counted, but not be written yet.
    assert 1 <= num_kept <= len(ended) and len(again) == 4 - num_kept, (before, again, output)
    assert again | ended == {"1", "2", "3", "4"}
    update, = updates_of(tmp_path / "runs/tiny")
    assert update["rollouts"] == 4


def test_lost_updates_of_an_asynchronous_run_are_made_again_from_what_was_sampled(model, tmp_path):
    changes = kill_sweep.VARIANTS["asynchronous"] | {"trainer__checkpoint_every": 0, "run__updates": 12}
    config = kill_sweep.tiny_run(tmp_path, model, **changes)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: len(updates_of(tmp_path / "runs/tiny")) >= 5, 60, "five updates")
        daemon.process.kill()
        daemon.process.wait()
    status, found = run(tmp_path, "inspect", "tiny", "--json")
    lost = [update["version"] for update in json.loads(found)["updates"] if not update["is_skipped"]]
    assert status == 0 and lost, found
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 0, output
    again = re.findall(r"version (\d+) was made again after the restart, with the same weights, bit for bit", output)
    assert [int(version) for version in again] == lost and "its task is run again" not in output, output


def test_what_ran_is_run_again_as_a_new_attempt_and_the_old_ones_key_is_refused(model, tmp_path):
    config, events = logged_run(tmp_path, model)
    hanging = yaml.safe_load(config.read_text())
    hanging["rollouts"]["harness"]["env"]["CORISCO_TEST_HANG"] = "attempt-1"
    config.write_text(yaml.safe_dump(hanging))
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: len([event for event in events() if event["event"] == "called"]) == 4, 30, "four calls")
        daemon.process.kill()
        daemon.process.wait()
    old = [event for event in events() if event["event"] == "start"]
    # Every reply that a harness had is in the journal, once.
    status, output = run(tmp_path, "inspect", "tiny", "--json")
    accounts = json.loads(output)["accounts"]
    assert status == 0 and accounts["produced"]["calls"] == 4 and accounts["balance"], accounts
    with Daemon(tmp_path, config, "--resume", "--set", "run.when_done=serve") as daemon:
        for event in old:
            status, reply = daemon.post("/v1/chat/completions", {"model": "m", "messages": []}, key=event["key"])
            assert status == 401 and "no longer" in reply["error"]["message"], reply
        path = f"/rollout/{old[0]['rollout']}/attempt/1/v1/chat/completions"
        status, reply = daemon.post(path, {"model": "m", "messages": []}, key=old[0]["key"])
        assert status in (404, 409), reply     # before and after attempt 2 has started
        wait_until(lambda: updates_of(tmp_path / "runs/tiny"), 60, "the update")
    again = [event for event in events()[len(old) * 2:] if event["event"] == "start"]
    assert {event["rollout"]: event["attempt"] for event in again} == {str(number): "2" for number in range(1, 5)}


@pytest.fixture(scope="module")
def killed_folder(model, tmp_path_factory):
    """Of a run that was killed after its second checkpoint."""
    folder = tmp_path_factory.mktemp("killed")
    config = kill_sweep.tiny_run(folder, model, trainer__checkpoint_every=1, run__updates=40,
                                 gateway__admin_key="a-secret-of-ours")
    with Daemon(folder, config) as daemon:
        wait_until(lambda: len(list(folder.glob("runs/tiny/checkpoints/step-*"))) >= 2, 60, "two checkpoints")
        daemon.process.kill()
        daemon.process.wait()
    return folder


@pytest.fixture
def killed(killed_folder, tmp_path):
    """A copy of it: (config, run folder)."""
    shutil.copytree(killed_folder / "runs", tmp_path / "runs")
    for name in ("config.yaml", "tasks.jsonl", "heldout.jsonl"):
        shutil.copy(killed_folder / name, tmp_path)
    config = changed(tmp_path / "config.yaml", run__folder=str(tmp_path / "runs"),
                     rollouts__tasks=str(tmp_path / "tasks.jsonl"), evaluation__tasks=str(tmp_path / "heldout.jsonl"))
    return config, tmp_path / "runs/tiny"


def changed(config, **changes):
    """Another config beside it."""
    content = yaml.safe_load(config.read_text())
    for key, value in changes.items():
        module, name = key.split("__")
        content[module][name] = value
    other = config.with_name(f"changed-{config.name}")
    other.write_text(yaml.safe_dump(content))
    return other


@pytest.mark.parametrize("seed", range(3))
def test_the_newest_whole_checkpoint_wins_and_a_damaged_one_is_named(killed, tmp_path, seed):
    chance = random.Random(seed)
    config, folder = killed
    older, newest = sorted(folder.glob("checkpoints/step-*"))[-2:]
    victim = chance.choice(sorted(file for file in newest.iterdir() if file.stat().st_size > 0))
    content = bytearray(victim.read_bytes())
    if seed % 2:
        del content[chance.randrange(len(content)):]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    victim.write_bytes(content)
    status, output = run(tmp_path, "serve", config, "--resume", "--set", f"run.updates={int(newest.name[5:])}")
    assert status == 0, output
    assert str(newest) in output and f"from {older}" in output, (victim, output)


def test_without_any_whole_checkpoint_the_run_is_not_begun_anew(killed, tmp_path):
    config, folder = killed
    for file in folder.glob("checkpoints/step-*/model.safetensors"):
        file.write_bytes(file.read_bytes()[:-1])
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 2 and "no whole checkpoint" in output, output


def test_another_config_is_refused_with_the_difference(killed, tmp_path):
    config, folder = killed
    harness = yaml.safe_load(config.read_text())["rollouts"]["harness"] | {"env": {"TOKEN": "hidden-value"}}
    other = changed(config, trainer__learning_rate=0.004, rollouts__group_size=3, gateway__admin_key="another-secret",
                    rollouts__processes_max=5, rollouts__harness=harness)
    before = {name: (folder / name).read_bytes() for name in ("config.yaml", "manifest.json")}
    status, output = run(tmp_path, "serve", other, "--resume", "--set", "run.updates=5")
    assert status == 2, output
    assert "trainer.learning_rate: 0.003 -> 0.004" in output and "rollouts.group_size: 2 -> 3" in output
    assert "rollouts.harness.env" in output and "TOKEN" in output and "--accept-changes" in output
    assert "processes_max" not in output
    assert not any(secret in output for secret in ("a-secret-of-ours", "another-secret", "hidden-value"))
    assert before == {name: (folder / name).read_bytes() for name in before}


def test_changes_that_are_free_or_accepted_are_kept(killed, tmp_path):
    config, folder = killed
    done = max(line["update"] for line in updates_of(folder))
    longer = changed(config, run__updates=done + 1, rollouts__processes_max=5)
    status, output = run(tmp_path, "serve", longer, "--resume")
    assert status == 0 and "rollouts.processes_max: 64 -> 5" in output, output
    other = changed(config, run__updates=done + 2, rollouts__processes_max=5, trainer__learning_rate=0.004)
    status, output = run(tmp_path, "serve", other, "--resume", "--accept-changes")
    assert status == 0 and "accepted: trainer.learning_rate: 0.003 -> 0.004" in output, output
    lives = json.loads((folder / "manifest.json").read_text())["changes"]
    changes = [change["what"] for life in lives for change in life["changed"]]
    assert changes.count("rollouts.processes_max") == 1 and changes.count("trainer.learning_rate") == 1
    status, output = run(tmp_path, "serve", other, "--resume")
    assert status == 0 and "->" not in output.replace("held-out reward", "").split("done:")[0].split("phase")[0], output


def test_other_tasks_or_another_model_are_refused(killed, model, tmp_path):
    own_model = shutil.copytree(model, tmp_path / "model")
    config = changed(killed[0], model__path=str(own_model))
    tasks = tmp_path / "tasks.jsonl"
    whole = tasks.read_text()
    tasks.write_text(whole.replace("topic 3", "topic three"))
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 2 and "tasks: SHA-256" in output, output
    tasks.write_text(whole)
    template = own_model / "tokenizer_config.json"
    template.write_text(template.read_text().replace("assistant", "helper"))
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 2 and "tokenizer_config.json" in output, output


def test_a_run_killed_before_its_manifest_was_written_is_resumed(killed, tmp_path):
    config, folder = killed
    (folder / "manifest.json").unlink()
    (folder / "config.yaml").unlink()
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=3")
    assert status == 0, output
    assert (folder / "manifest.json").exists() and (folder / "config.yaml").exists()
