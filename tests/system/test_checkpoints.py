"""POST /admin/checkpoint of a live run: what it answers, and that runs go on from it as from any other."""
import errno
import json
import os
import pathlib
import re
import time

import checkpoint_faults
import kill_sweep
import pytest
from daemon import Daemon, run, wait_until


def long_run(folder, model):
    """Long enough for what is asked of it on the way; it saves nothing by itself but its end."""
    return kill_sweep.tiny_run(folder, model, run__updates=12, trainer__checkpoint_every=0)


@pytest.fixture(scope="module")
def undisturbed(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    status, output = run(folder, "serve", long_run(folder, model))
    assert status == 0, output
    return kill_sweep.picture(folder / "runs/tiny")


def version(daemon):
    return daemon.metric("corisco_coordinator_policy_version ")


def state(daemon):
    return json.loads(daemon.get("/admin/state"))


def steps(tmp_path):
    return sorted(str(folder) for folder in tmp_path.glob("runs/tiny/checkpoints/step-*"))


def test_a_run_killed_after_it_goes_on_from_it_bit_for_bit(model, undisturbed, tmp_path):
    config = long_run(tmp_path, model)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: version(daemon) >= 2, 60, "two updates")
        status, reply = daemon.post("/admin/checkpoint")
        daemon.process.kill()
        daemon.process.wait()
    assert status == 200 and reply["state"] == "written" and reply["policy_version"] >= 2, reply
    saved = pathlib.Path(reply["checkpoint"])
    assert saved.name == f"step-{reply['policy_version']:06}" and checkpoint_faults.is_whole(saved)
    assert steps(tmp_path) == [str(saved)]
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 0 and f"resumed at version {reply['policy_version']} from {saved}" in output, output
    assert kill_sweep.differences(undisturbed, kill_sweep.picture(tmp_path / "runs/tiny")) == []
    assert kill_sweep.account_problems(tmp_path / "runs/tiny") == []


def test_however_often_it_is_asked_for_the_run_ends_as_without(model, undisturbed, tmp_path):
    folders = {}
    with Daemon(tmp_path, long_run(tmp_path, model)) as daemon:
        while daemon.process.poll() is None:
            try:
                status, reply = daemon.post("/admin/checkpoint")
            except OSError:                    # the run has ended
                break
            assert status == 200, reply
            folders.setdefault(reply["policy_version"], set()).add(reply["checkpoint"])
        assert daemon.wait(30) == 0, daemon.text()
    assert len(folders) >= 3 and list(folders) == sorted(folders), folders
    assert all(len(names) == 1 for names in folders.values()), folders
    kept = steps(tmp_path)
    assert len(kept) == 2 and all(re.search(r"/step-\d{6}$", step) for step in kept), kept
    assert kill_sweep.differences(undisturbed, kill_sweep.picture(tmp_path / "runs/tiny")) == []
    assert kill_sweep.account_problems(tmp_path / "runs/tiny") == []


def test_one_that_is_there_is_named_and_not_written_again(model, tmp_path):
    with Daemon(tmp_path, long_run(tmp_path, model)) as daemon:
        wait_until(lambda: version(daemon) >= 1, 60, "an update")
        assert daemon.post("/admin/pause")[0] == 200
        wait_until(lambda: state(daemon)["phase"] == "generating", 30, "the end of the update")
        status, first = daemon.post("/admin/checkpoint")
        assert status == 200 and first["state"] == "written", first
        assert daemon.post("/admin/checkpoint") == (200, first | {"state": "existed"})
        assert steps(tmp_path) == [first["checkpoint"]]
        shown = state(daemon)
        assert shown["checkpoint"] == first["checkpoint"] and shown["checkpoint_error"] is None, shown
        assert shown["checkpoint_version"] == shown["policy_version"] == first["policy_version"], shown
        assert shown["checkpoint_pending"] is False, shown
    status, output = run(tmp_path, "inspect", "tiny", "--json")
    assert status == 0, output
    saved = {update["version"]: update["checkpoint"] for update in json.loads(output)["updates"]}
    assert saved[first["policy_version"]] == first["checkpoint"], saved


def run_elsewhere(daemon):
    """Takes training rollouts, as a harness elsewhere does, until an update is made of them."""
    before, deadline = version(daemon), time.monotonic() + 60
    while version(daemon) == before:
        assert time.monotonic() < deadline, daemon.text()
        status, taken = daemon.post("/admin/rollouts")
        if status == 409:                      # none waits: the update is under way
            time.sleep(0.02)
            continue
        assert status == 201, taken
        key, path = taken["api_key"], f"/rollout/{taken['rollout_id']}/attempt/{taken['attempt']}"
        body = {"model": "policy", "messages": [{"role": "user", "content": taken["task"]["topic"]}]}
        assert daemon.post(path + "/v1/chat/completions", body, key=key)[0] == 200
        reward = {"event_type": "reward", "data": {"value": taken["rollout_id"] % 2}}
        assert daemon.post(path + "/events", reward, key=key)[0] == 200
        assert daemon.post("/admin" + path.replace("/rollout/", "/rollouts/") + "/finish")[0] == 200


def test_a_full_disk_is_told_and_the_last_one_stays(model, tmp_path):
    config = kill_sweep.tiny_run(tmp_path, model, rollouts__harness={"external": True}, evaluation__tasks="",
                                 rollouts__reward={"source": "event"}, rollouts__groups_per_update=1,
                                 trainer__checkpoint_every=0)
    full = os.strerror(errno.ENOSPC)
    faults = {"LD_PRELOAD": str(checkpoint_faults.compile_shim(tmp_path)), "CORISCO_FAULT_PATH": "/checkpoints/tmp-1-",
              "CORISCO_FAULT_AT": "5", "CORISCO_FAULT_TIMES": "1000000", "CORISCO_FAULT_KIND": str(errno.ENOSPC)}
    with Daemon(tmp_path, config, environment=faults) as daemon:
        status, first = daemon.post("/admin/checkpoint")
        assert (status, first["policy_version"]) == (200, 0), first
        run_elsewhere(daemon)
        status, reply = daemon.post("/admin/checkpoint")
        assert status in (500, 503) and full in reply["error"]["message"], (status, reply)
        assert steps(tmp_path) == [first["checkpoint"]]
        shown = state(daemon)
        assert (shown["policy_version"], shown["checkpoint_version"]) == (1, 0), shown
        assert shown["checkpoint"] == first["checkpoint"] and full in shown["checkpoint_error"], shown
        daemon.process.kill()
        daemon.process.wait()
    with Daemon(tmp_path, config, "--resume") as daemon:
        wait_until(lambda: version(daemon) >= 1, 60, "the update once more")
        status, reply = daemon.post("/admin/checkpoint")
        assert status == 200 and reply["policy_version"] == 1 and reply["state"] == "written", reply
        assert f"resumed at version 0 from {first['checkpoint']}" in daemon.text()
