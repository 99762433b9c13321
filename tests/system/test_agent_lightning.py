"""Agent Lightning's wire API of the real daemon: by hand, and by its own package where that is installed
(`pip install --no-deps agentlightning==1.0.2`, with httpx, httpx-retries, pydantic, numpy, structlog, omegaconf
and hydra-core)."""
import asyncio
import json
import os
import pathlib
import threading
import urllib.error
import urllib.request

import openai
import pytest
from daemon import Daemon, updates_of, write_config

HERE = pathlib.Path(__file__).parent
AGENT = {"local": {"agent_class": "lightning_agent.Agent", "env_map": {"TOPIC": "input.topic"}}}


@pytest.fixture(scope="module")
def daemon(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lightning")
    with Daemon(folder, write_config(folder, model, {"rollouts": {"reward": {"source": "event"}}})) as running:
        yield running


def send(daemon, method, path, body=None):
    """(status, parsed reply)."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(daemon.url + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.loads(reply.read() or "null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or "null")


def test_a_rollout_from_its_creation_to_its_triplets(daemon):
    status, created = send(daemon, "POST", "/api/rollouts",
                           [{"rollout_id": "mine", "input": {"topic": "x"}, "is_train": False}])
    assert status == 201 and created[0]["status"]["state"] == "queuing", created
    client = openai.OpenAI(base_url=daemon.url + "/proxy/rollout/mine/attempt/0/mode/val/openai/v1", api_key="EMPTY",
                           max_retries=0)
    reply = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}],
                                           extra_body={"return_token_ids": True})
    assert send(daemon, "GET", "/api/rollouts/mine")[1]["rollout"]["status"]["state"] == "running"
    assert send(daemon, "POST", "/api/rollouts/mine/attempt/0/events",
                {"event_type": "reward", "data": {"value": 0.5}})[0] == 200
    status, ended = send(daemon, "PATCH", "/api/rollouts/mine", {"status": {"state": "succeeded"}})
    assert status == 200 and ended["status"]["state"] == "succeeded", ended
    events = send(daemon, "GET", "/api/rollouts/mine/events?format=triplet")[1]
    assert [event["event_type"] for event in events] == ["model_request", "reward"]
    triplet = events[0]["data"]
    assert triplet["response_token_ids"] == reply.choices[0].model_extra["token_ids"]
    assert triplet["prompt_token_ids"] == reply.model_extra["prompt_token_ids"]
    assert len(triplet["response_log_probs"]) == len(triplet["response_token_ids"])
    assert events[1]["data"] == {"value": 0.5}
    assert send(daemon, "DELETE", "/api/rollouts/mine")[0] == 204
    assert send(daemon, "GET", "/api/rollouts/mine")[0] == 404


def test_pause_holds_and_resume_lets_go(daemon):
    assert send(daemon, "POST", "/proxy/pause", {"reason": "test"})[1]["paused"] is True
    done = []
    client = openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=0)
    ask = threading.Thread(target=lambda: done.append(client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "x"}], max_tokens=2)))
    ask.start()
    ask.join(0.5)
    assert not done
    assert send(daemon, "GET", "/proxy/state")[1] == {"paused": True, "retry_after_seconds": 5, "reason": "test", "inflight": 0}
    assert send(daemon, "POST", "/proxy/resume")[1]["paused"] is False
    ask.join(10)
    assert len(done) == 1


class Controller:
    """The package's own local controller, in a thread: `with Controller(url):`."""

    def __init__(self, url):
        local_reconciler = pytest.importorskip("agentlightning.controller.local_reconciler")
        client = pytest.importorskip("agentlightning.client")
        omegaconf = pytest.importorskip("omegaconf")
        config = omegaconf.OmegaConf.create({"runner_type": "local", "agl_server": {"url": url, "agent_url": None, "key": ""},
                                             "local_runner": {"maximum_size": 4, "poll_interval": 0.1}})

        async def run():
            async with client.AgentLightningAsyncClient(base_url=url) as api:
                self.reconciler = local_reconciler.LocalReconciler(api=api, config=config)
                self.started.set()
                await self.reconciler.run()

        self.started = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(run()))

    def __enter__(self):
        self.thread.start()
        self.started.wait(10)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.reconciler.stop)
        self.thread.join(30)


@pytest.fixture
def agent_path(monkeypatch):
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)


def test_its_client_and_controller_run_a_validation_batch(daemon, agent_path):
    manager = pytest.importorskip("agentlightning.verl.agl_rollout_manager")
    with Controller(daemon.url):
        batch = manager.AglRolloutManager(
            agl_base_url=daemon.url, agl_key="", model="any", step=1, poll_interval_seconds=0.1,
            local_agent_class=AGENT["local"]["agent_class"], local_env_map=AGENT["local"]["env_map"])
        done = batch.enqueue_and_wait_until_completed({"topic": ["topic 0", "topic 1"]}, is_train=False)
    assert sorted(rollout.final_reward for rollout in done) == [0.0, 1.0]
    for rollout in done:
        assert rollout.rollout_state == "succeeded" and len(rollout.triplets) == 1, rollout
        reply = rollout.triplets[0].response
        assert reply["token_ids"] and len(reply["token_ids"]) == len(reply["log_probs"])


def test_its_controller_runs_the_harnesses_of_a_training_run(model, tmp_path, agent_path):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps({"id": f"t{i}", "topic": f"topic {i}", "agl_config": AGENT}) + "\n" for i in range(4)))
    config = write_config(tmp_path, model, {
        "run": {"updates": 1},
        "rollouts": {"tasks": str(tasks), "group_size": 2, "groups_per_update": 2, "shuffle": False,
                     "harness": {"external": True}, "reward": {"source": "event"}}})
    with Daemon(tmp_path, config) as running:
        with Controller(running.url):
            assert running.wait(120) == 0, running.text()
    updates = updates_of(tmp_path / "runs" / "tiny")
    assert len(updates) == 1 and updates[0]["reward_mean"] == 0.5    # of topics 0 and 1
