"""`corisco inspect` and `corisco replay` on a short real run."""
import json
import shutil

import pytest
from daemon import Daemon, run, updates_of, wait_until
from test_training import training


@pytest.fixture(scope="module")
def finished(model, tmp_path_factory):
    """Three updates of two turns each, checkpoints after the second and the last: (folder of the test, run folder)."""
    folder = tmp_path_factory.mktemp("inspected")
    config = training(folder, model, harness="two_turns", trainer__checkpoint_every=2, trainer__schedule="cosine")
    status, output = run(folder, "serve", config)
    assert status == 0, output
    return folder, folder / "runs" / "tiny"


def inspected(folder, run_folder, *arguments):
    status, output = run(folder, "inspect", run_folder, *arguments, "--json")
    return status, json.loads(output)


def test_the_accounts_of_a_run_balance(finished):
    folder, run_folder = finished
    status, found = inspected(folder, run_folder)
    accounts = found["accounts"]
    assert status == 0 and accounts["balance"] and not accounts["problems"] and not found["is_running"]
    assert accounts["produced"]["calls"] == len(found["rollouts"]) * 2
    assert [update["version"] for update in found["updates"]] == [1, 2, 3]
    assert len({update["weights_checksum"] for update in found["updates"]}) == 3
    trained = [update["trained_tokens"] for update in found["updates"]]
    assert trained == [line["trained_tokens"] for line in updates_of(run_folder)]
    assert sum(trained) == accounts["trained"]["tokens"]
    status, text = run(folder, "inspect", "tiny")          # by its name below ./runs
    assert status == 0 and "they balance" in text and "step-000003" in text


def ascii_of(text):
    """What is whole in one token of a byte-level tokenizer."""
    return "".join(character for character in "".join(text.split()) if character < "\x80")


def test_a_rollout_is_shown_call_by_call(finished):
    folder, run_folder = finished
    _, found = inspected(folder, run_folder)
    listed = next(rollout for rollout in found["rollouts"] if rollout["fate"] == "trained")
    status, rollout = inspected(folder, run_folder, listed["rollout"])
    assert status == 0 and len(rollout["calls"]) == 2
    first, second = rollout["calls"]
    assert ascii_of(first["reply"]) == ascii_of("".join(
        text for token, text in zip(first["token_ids"], first["token_texts"]) if token < 256))
    assert all(logprob <= 0 for logprob in first["sampled_logprobs"])
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["new_messages"][-1]["content"] == "again"
    rewards = [reward for reward in rollout["group_rewards"] if reward is not None]
    mean = sum(rewards) / len(rewards)
    deviation = (sum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1)) ** 0.5
    assert rollout["advantage"] == pytest.approx((rollout["reward"] - mean) / (deviation + 1e-6))
    num_rollouts = rollout["update"]["rollouts"]
    assert rollout["coefficient"] == pytest.approx(1 / (num_rollouts * rollout["learnable"]["tokens"]))
    status, text = run(folder, "inspect", run_folder, listed["rollout"], "--tokens")
    assert status == 0 and "trained in the update that made version" in text
    assert all(f" {token} " in text for token in first["token_ids"])
    status, text = run(folder, "inspect", run_folder, 10**6)
    assert status == 2 and "has no rollout" in text


def test_inspect_reads_a_run_that_goes_on(model, tmp_path):
    config = training(tmp_path, model, harness="hang", rollouts__seconds_max=600)
    with Daemon(tmp_path, config) as daemon:
        wait_until(lambda: daemon.metric("corisco_samples_calls_total") >= 4, 30, "calls")
        status, found = inspected(tmp_path, "tiny")
        assert status == 0 and found["is_running"] and found["accounts"]["waiting"]["calls"] >= 1
        with open(tmp_path / "runs/tiny/metrics.jsonl", "a") as lines:
            lines.write('{"as if this daemon were')    # writing a line, which another one must not cut
        status, output = run(tmp_path, "serve", config, "--resume")
        assert status == 2 and "in use by another daemon" in output, output
        assert (tmp_path / "runs/tiny/metrics.jsonl").read_text().endswith("as if this daemon were")
        daemon.process.kill()
        daemon.process.wait()
    status, found = inspected(tmp_path, "tiny")
    assert status == 0 and not found["is_running"]
    assert found["accounts"]["dropped"]["daemon_died"]["calls"] >= 4


def snapshot(folder):
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
            for path in folder.rglob("*") if path.is_file()}


def test_a_replayed_update_is_bit_equal_and_another_rate_is_not(finished):
    folder, run_folder = finished
    before = snapshot(run_folder)
    _, found = inspected(folder, run_folder)
    checksums = [update["weights_checksum"] for update in found["updates"]]
    for version in (1, 2, 3):                # 1 and 2 from the initial weights, 3 from the checkpoint at 2
        status, output = run(folder, "replay", run_folder, "--update", version)
        assert status == 0, output
        assert f"the same weights: {checksums[version - 1]}" in output and "other weights" not in output
    assert "step-000002" in output and "version 2 " not in output
    status, output = run(folder, "replay", run_folder, "--update", 3, "--set", "trainer.learning_rate=0.001")
    assert status == 0 and "other weights" in output and "the same weights" not in output, output
    assert snapshot(run_folder) == before


def test_the_result_of_a_replay_can_be_saved_and_served(finished, tmp_path):
    folder, run_folder = finished
    status, output = run(folder, "replay", run_folder, "--update", 3, "--out", tmp_path / "out")
    assert status == 0, output
    ours, theirs = (parent / "step-000003" / "model.safetensors"
                    for parent in (tmp_path / "out", run_folder / "checkpoints"))
    assert ours.read_bytes() == theirs.read_bytes()
    status, output = run(folder, "replay", run_folder, "--update", 3, "--out", tmp_path / "out")
    assert status == 2 and "new or empty" in output


def test_what_cannot_be_replayed_is_refused_by_name(finished, model, tmp_path):
    folder, run_folder = finished
    for arguments, words in ((("--update", 9), "no update made version 9"), (("--update", 0), "initial weights"),
                             (("--update", 3, "--set", "trainer.learning_rte=1"), "learning_rte")):
        status, output = run(folder, "replay", run_folder, *arguments)
        assert status == 2 and words in output, output
    status, output = run(folder, "replay", tmp_path, "--update", 1)
    assert status == 2 and "journal.bin" in output
    changed = tmp_path / "model"
    shutil.copytree(model, changed)
    (changed / "config.json").write_text((changed / "config.json").read_text() + " ")
    status, output = run(folder, "replay", run_folder, "--update", 3, "--set", f"model.path={changed}")
    assert status == 2 and "config.json changed since the run began" in output, output
