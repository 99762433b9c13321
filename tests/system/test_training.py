"""Whole runs of the real daemon on a tiny model."""
import json
import pathlib
import signal
import subprocess
import time

import openai
import pytest
import tiny_model
from daemon import BINARY, PYTHON, Daemon, alive, run, updates_of, wait_until, write_config, write_tasks
from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).parent
HARNESSES = HERE / "harnesses.py"


def training(tmp_path, model, harness="run", reward="low_bytes", **changes):
    tasks = write_tasks(tmp_path / "tasks.jsonl")
    config = {"run": {"updates": 3},
              "rollouts": {"tasks": str(tasks), "group_size": 4, "groups_per_update": 2, "seconds_max": 60,
                           "harness": {"python": f"{HARNESSES}:{harness}", "python_interpreter": PYTHON,
                                       "python_preload": ["openai"]},
                           "reward": {"source": "python", "python": f"{HARNESSES}:{reward}"}},
              "trainer": {"learning_rate": 0.003}}
    for key, value in changes.items():
        module, name = key.split("__")
        config.setdefault(module, {})
        config[module][name] = value
    return write_config(tmp_path, model, config)


def test_the_reward_rises_and_the_run_ends_with_its_summary(model, tmp_path):
    config = training(tmp_path, model, run__updates=20, rollouts__groups_per_update=4, model__dtype="float32",
                      evaluation__tasks=str(write_tasks(tmp_path / "heldout.jsonl", 16)))
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    folder = tmp_path / "runs" / "tiny"
    updates = updates_of(folder)
    assert [line["update"] for line in updates] == list(range(1, 21))
    first, last = (sum(line["reward_mean"] for line in part) / 3 for part in (updates[:3], updates[-3:]))
    assert last > first + 0.15, (first, last)
    before, after = map(float, output.split("held-out reward ")[-1].split("\n")[0].split(" -> "))
    assert after > before + 0.15
    assert all(line["mismatch_max"] < 1e-3 for line in updates)
    assert (folder / "manifest.json").exists() and (folder / "evaluation-0.jsonl").exists()
    assert list((folder / "checkpoints").glob("step-*/model.safetensors"))


def test_siblings_differ_although_the_harness_sends_seed_and_temperature(model, tmp_path):
    config = training(tmp_path, model, run__updates=0, evaluation__tasks=str(write_tasks(tmp_path / "heldout.jsonl", 1)),
                      evaluation__rollouts_per_task=6)
    status, output = run(tmp_path, "eval", config)
    assert status == 0, output
    lines = (tmp_path / "runs" / "tiny-eval" / "evaluation-0.jsonl").read_text().splitlines()
    assert len({json.loads(line)["calls"][0]["reply"] for line in lines}) > 1


def test_two_turns_become_one_row_each(model, tmp_path):
    config = training(tmp_path, model, harness="two_turns", run__updates=1)
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    update, = updates_of(tmp_path / "runs" / "tiny")
    assert update["rollouts"] == 8


@pytest.mark.parametrize("architecture", ["Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "Qwen3_5MoeForCausalLM"])
def test_every_kind_of_layer_samples_and_trains_alike(tmp_path, architecture):
    path = tiny_model.write(tmp_path / "model", architecture=architecture)
    config = training(tmp_path, path, run__updates=1, engine__deterministic=True, model__dtype="float32")
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    update, = updates_of(tmp_path / "runs" / "tiny")
    assert update["mismatch_max"] == 0 and update["grad_norm"] > 0
    written, = (tmp_path / "runs" / "tiny" / "checkpoints").glob("step-*/model.safetensors")
    before, after = load_file(path / "model.safetensors"), load_file(written)
    assert before.keys() == after.keys()
    changed = [name for name in before if (before[name] != after[name]).any()]
    assert any("q_norm" in name for name in changed) and any("mlp" in name for name in changed)
    assert any("mlp.gate.weight" in name for name in changed) == ("Moe" in architecture)
    assert any("linear_attn.A_log" in name for name in changed) == architecture.startswith("Qwen3_5")


def test_experts_are_replayed_from_what_was_sampled(tmp_path):
    """From the first turn's prompt, found in the cache by siblings, to updates of rows of two turns, some older."""
    path = tiny_model.write(tmp_path / "model", architecture="Qwen3MoeForCausalLM")
    config = training(tmp_path, path, harness="two_turns", run__updates=3, engine__deterministic=True,
                      model__dtype="float32", trainer__replay_routing=True,
                      coordinator__mode="collocated_async", coordinator__policy_age_max=1, rollouts__groups_active_max=4)
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    updates = updates_of(tmp_path / "runs" / "tiny")
    assert len(updates) == 3 and all(line["unreplayed_rows"] == 0 and line["forwarded_tokens"] > 0 for line in updates)
    assert updates[0]["mismatch_max"] == 0 and updates[0]["rerouted_share"] == 0
    status, output = run(tmp_path, "replay", tmp_path / "runs" / "tiny", "--update", 3)   # from the journal alone
    assert status == 0 and "the same weights" in output and "other weights" not in output, output


def test_routing_of_a_model_without_experts_is_not_replayed(model, tmp_path):
    status, output = run(tmp_path, "serve", training(tmp_path, model, trainer__replay_routing=True))
    assert status == 2 and "trainer.replay_routing" in output and "no experts" in output, output


def test_asynchronous_updates_keep_the_age_bound(model, tmp_path):
    config = training(tmp_path, model, run__updates=6, coordinator__mode="collocated_async", coordinator__policy_age_max=1,
                      rollouts__groups_active_max=4)
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    updates = updates_of(tmp_path / "runs" / "tiny")
    assert len(updates) == 6 and all(line["policy_age_max"] <= 1 for line in updates)


def test_harnesses_that_run_elsewhere_take_training_rollouts(model, tmp_path):
    config = training(tmp_path, model, run__updates=2, rollouts__groups_per_update=2, rollouts__group_size=2,
                      rollouts__harness={"external": True}, rollouts__reward={"source": "event"})
    modes = []
    with Daemon(tmp_path, config) as daemon:
        while daemon.process.poll() is None:
            try:
                status, taken = daemon.post("/admin/rollouts", {})
                if status == 409:              # none waits: an update is under way, or all are taken
                    time.sleep(0.05)
                    continue
                assert status == 201, taken
                client = openai.OpenAI(base_url=taken["base_url"], api_key=taken["api_key"], max_retries=0)
                text = taken["task"]["topic"]
                client.chat.completions.create(model="policy", messages=[{"role": "user", "content": text}])
                reward = {"event_type": "reward", "data": {"value": taken["rollout_id"] % 2}}
                assert daemon.post(taken["reward_url"].removeprefix(daemon.url), reward, key=taken["api_key"])[0] == 200
                finish = f"/admin/rollouts/{taken['rollout_id']}/attempt/{taken['attempt']}/finish"
                assert daemon.post(finish)[0] == 200
                modes.append(taken["mode"])
            except (OSError, openai.APIConnectionError):
                assert daemon.wait(20) == 0, daemon.text()
        assert daemon.process.returncode == 0, daemon.text()
    assert modes == ["train"] * 8
    assert [line["reward_mean"] for line in updates_of(tmp_path / "runs" / "tiny")] == [0.5, 0.5]


def test_a_harness_over_its_limit_is_graded(model, tmp_path):
    config = training(tmp_path, model, harness="many_processes", run__updates=1, rollouts__tree_processes_max=3,
                      rollouts__group_size=2, rollouts__groups_per_update=1, run__when_done="serve")
    with Daemon(tmp_path, config) as daemon:
        ended = 'corisco_rollouts_finished_total{mode="train",outcome="limit_exceeded"}'
        wait_until(lambda: daemon.metric(ended) == 2, 60, "two rollouts over their limit")
        wait_until(lambda: updates_of(tmp_path / "runs" / "tiny"), 60, "an update with both")
        assert updates_of(tmp_path / "runs" / "tiny")[0]["rollouts"] == 2


def test_a_command_as_harness_with_a_reward_file(model, tmp_path):
    config = training(tmp_path, model, run__updates=1, rollouts__group_size=2, rollouts__groups_per_update=1,
                      rollouts__harness={"command": [PYTHON, str(HARNESSES)]}, rollouts__reward={"source": "file"})
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    assert updates_of(tmp_path / "runs" / "tiny")[0]["reward_mean"] == 0.5


def test_a_harness_that_never_works_stops_the_run_with_its_words(model, tmp_path):
    config = training(tmp_path, model, harness="crash_at_once", rollouts__infrastructure_failures_max=5)
    status, output = run(tmp_path, "serve", config)
    assert status == 1
    assert "this harness never works" in output


@pytest.mark.parametrize("harness,outcome", [("crash_after_a_call", "harness_crashed"), ("hang", "timed_out")])
def test_ends_that_the_policy_may_cause_are_trained(model, tmp_path, harness, outcome):
    config = training(tmp_path, model, harness=harness, rollouts__seconds_max=2, run__when_done="serve", run__updates=1)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: daemon.metric("corisco_trainer_updates_total") == 1, 60, "an update")
        assert daemon.metric(f'corisco_rollouts_finished_total{{mode="train",outcome="{outcome}"}}') == 8


def test_a_reward_that_is_no_number_is_named(model, tmp_path):
    config = training(tmp_path, model, reward="not_a_number", run__updates=1)
    status, output = run(tmp_path, "serve", config)
    assert status == 1 and "a reward must be a finite number or a boolean" in output and "(nan)" in output, output


def test_no_reward_file_takes_the_declared_minimum(model, tmp_path):
    config = training(tmp_path, model, run__updates=1, rollouts__reward={"source": "file", "minimum": -1.0})
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    assert updates_of(tmp_path / "runs" / "tiny")[0]["reward_mean"] == -1.0


def test_kill_9_leaves_no_process(model, tmp_path):
    pids = tmp_path / "pids"
    config = training(tmp_path, model, harness="leave_processes_behind",
                      rollouts__harness={"python": f"{HARNESSES}:leave_processes_behind", "python_interpreter": PYTHON,
                                         "env": {"CORISCO_TEST_PIDS": str(pids)}})
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= 16, 30, "all children")
        time.sleep(0.5)
        children = [int(pid) for pid in pids.read_text().split()]
        tree = subprocess.run(["pgrep", "-f", str(HARNESSES)], capture_output=True, text=True).stdout.split()
        daemon.process.kill()
        daemon.process.wait()
        wait_until(lambda: not any(alive(pid) for pid in children + [int(pid) for pid in tree]), 1.5, "every process is gone")


def test_sigterm_ends_within_five_seconds_and_leaves_nothing(model, tmp_path):
    config = training(tmp_path, model, harness="hang", rollouts__seconds_max=600)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: daemon.metric("corisco_rollouts_running") == 8, 30, "running rollouts")
        children = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True).stdout.split()
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.wait(5) == 0
        assert not any(alive(int(pid)) for pid in children)


def test_a_run_that_was_stopped_before_its_first_checkpoint_is_resumed(model, tmp_path):
    config = training(tmp_path, model, run__updates=40)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: updates_of(tmp_path / "runs" / "tiny"), 60, "an update")
    assert not list((tmp_path / "runs" / "tiny" / "checkpoints").glob("step-*"))
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=2")
    assert status == 0 and "from the initial weights" in output, output
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=0")
    assert status == 2 and "run.updates is 0" in output, output


def test_a_signal_leaves_a_checkpoint_where_the_config_wants_one(model, tmp_path):
    config = training(tmp_path, model, run__updates=400, shutdown__checkpoint=True)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: len(updates_of(tmp_path / "runs" / "tiny")) >= 2, 60, "two updates")
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.wait(30) == 0, daemon.text()
    updates = updates_of(tmp_path / "runs" / "tiny")
    step, = (tmp_path / "runs" / "tiny" / "checkpoints").glob("step-*")
    assert int(step.name.split("-")[1]) == len(updates)


def test_the_printed_next_step_works_as_it_stands(model, tmp_path):
    config = training(tmp_path, model, run__updates=1)
    status, output = run(tmp_path, "serve", config)
    assert status == 0, output
    command, = (line.split(None, 1)[1] for line in output.splitlines() if line.startswith("next "))
    done = subprocess.run(command, shell=True, env={}, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "reward" in done.stdout, done.stdout + done.stderr


def test_a_run_is_continued_only_with_resume(model, tmp_path):
    config = training(tmp_path, model, run__updates=4, trainer__checkpoint_every=1, trainer__learning_rate=0.003)
    with Daemon(tmp_path, config) as daemon:
        metrics = tmp_path / "runs" / "tiny" / "metrics.jsonl"
        wait_until(lambda: metrics.exists() and len(updates_of(metrics.parent)) >= 2, 60, "two updates")
        daemon.process.kill()
        daemon.process.wait()
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 0, output
    versions = [line["policy_version"] for line in updates_of(tmp_path / "runs" / "tiny")]
    assert versions[-1] == 4 and 2 in versions
    status, output = run(tmp_path, "serve", config, "--set", "run.updates=1")
    assert status == 0 and (tmp_path / "runs" / "tiny-2").exists()


def test_try_shows_calls_tokens_and_reward(model, tmp_path):
    status, output = run(tmp_path, "try", training(tmp_path, model), "task-3")
    assert status == 0, output
    assert "topic 3" in output and "reward" in output and "log-probability" in output


def test_try_refuses_a_task_that_is_not_there(model, tmp_path):
    status, output = run(tmp_path, "try", training(tmp_path, model), "task-99")
    assert status == 2 and 'no task has the id "task-99"' in output, output
    assert not (tmp_path / "runs" / "tiny-try").exists()


def test_start_up_errors_exit_with_2_and_name_the_remedy(model, tmp_path):
    config = training(tmp_path, model, rollouts__group_size=0, trainer__learning_rte=1)
    status, output = run(tmp_path, "check", config)
    assert status == 2 and "rollouts.group_size" in output and "learning_rte" in output and "learning_rate" in output
    for override, words in (("model.path=/nowhere", "/nowhere"), ("model.device=cuda", "cuda"),
                            ("gateway.listen=127.0.0.1:99999", "listen"), ("rollouts.tasks=/no/tasks.jsonl", "/no/tasks.jsonl")):
        status, output = run(tmp_path, "serve", training(tmp_path, model), "--set", override)
        assert status == 2 and words in output, (override, output)


def test_a_start_that_fails_leaves_no_folder_that_a_resume_would_take_for_the_newest_run(model, tmp_path):
    config = training(tmp_path, model, run__updates=1)
    with Daemon(tmp_path, config, "--set", "run.when_done=serve") as daemon:
        address = daemon.url.removeprefix("http://")
        status, output = run(tmp_path, "serve", config, "--set", f"gateway.listen={address}")
        assert status == 2 and address in output, output
        assert [folder.name for folder in (tmp_path / "runs").iterdir()] == ["tiny"]
        wait_until(lambda: updates_of(tmp_path / "runs" / "tiny"), 60, "the update")
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=2")
    assert "corisco: training 1 more updates of " in output, output
    assert status == 0 and [line["update"] for line in updates_of(tmp_path / "runs" / "tiny")] == [1, 2], output


def test_a_damaged_model_is_refused_with_the_names_of_its_tensors(model, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    tensors = load_file(damaged / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    tensors["extra.weight"] = tensors["model.norm.weight"]
    tensors["model.layers.0.self_attn.o_proj.weight"] = tensors["model.layers.0.self_attn.o_proj.weight"][:, :32].copy()
    save_file(tensors, damaged / "model.safetensors")
    status, output = run(tmp_path, "serve", training(tmp_path, damaged))
    assert status == 2
    for name in ("model.layers.1.mlp.up_proj.weight", "extra.weight", "model.layers.0.self_attn.o_proj.weight"):
        assert name in output


def test_the_config_in_force_loads_again(model, tmp_path):
    status, printed = run(tmp_path, "config", training(tmp_path, model))
    assert status == 0
    again = tmp_path / "again.yaml"
    again.write_text(printed)
    assert run(tmp_path, "check", again)[0] == 0
    assert subprocess.run([BINARY, "--version"], capture_output=True).returncode == 0
