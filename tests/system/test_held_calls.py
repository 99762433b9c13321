"""A model that follows a script, trained by rollouts that are held in their midst: each call is recorded once and
trained once, by the account that scripts/agents/accept.sh gives of real agents."""
import concurrent.futures
import json
import pathlib
import sys

import openai
import pytest
from daemon import BINARY, Daemon, wait_until

AGENTS = pathlib.Path(__file__).parents[2] / "scripts/agents"
sys.path.insert(0, str(AGENTS))
import held
import script_model

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"],
         "additionalProperties": False}


def call_of(**changes):
    return {"call": 1, "state": "used", "is_delivered": True, "dropped": None, "branch": 0, "row_begin": 4,
            "started_unix_seconds": 10.0, "messages": [{"role": "user", "content": "a"}]} | changes


def rollout_of(*calls, fate="trained"):
    return {"fate": fate, "trained_in_version": 3, "calls": list(calls)}


SECOND = call_of(call=2, row_begin=9, started_unix_seconds=20.0, messages=[{"role": "user", "content": "b"}])


def test_a_call_that_was_held_and_trained_once_is_in_order():
    words, problems = held.account(rollout_of(call_of(), SECOND), (15.0, 75.0), True)
    assert words == ["2 calls", "call 2 held 55 s", "2 trained once, in version 3"]
    assert problems == []


@pytest.mark.parametrize("second, problem", [
    (SECOND | {"row_begin": 4}, "2 calls in one place of a row"),
    (SECOND | {"branch": None, "row_begin": None}, "call 2 has no row"),
    (SECOND | {"messages": call_of()["messages"]}, "1 recorded twice"),
    (SECOND | {"dropped": "undelivered", "is_delivered": False}, "1 not trained: undelivered"),
    (SECOND | {"state": "aborted"}, "lost: 2"),
    (SECOND | {"started_unix_seconds": 80.0}, "none held"),
    (SECOND | {"state": "superseded"}, "superseded call 2 is trained")])
def test_what_is_not_in_order_is_named(second, problem):
    _, problems = held.account(rollout_of(call_of(), second), (15.0, 75.0), True)
    assert problem in problems, problems


def test_side_calls_need_no_training_and_waiting_ones_do():
    words, problems = held.account(rollout_of(call_of(), SECOND | {"dropped": "side", "branch": None}), None, True)
    assert words == ["2 calls", "1 trained once, in version 3", "1 side"] and problems == []
    assert held.account(rollout_of(call_of(), fate="waiting"), None, True)[1] == ["1 not trained: waiting"]
    assert held.account(rollout_of(call_of(dropped="side")), None, True)[1] == ["none trained"]


@pytest.fixture
def daemon(tmp_path):
    script_model.write_model(tmp_path / "model")
    config = script_model.write_config(tmp_path / "model", 2)
    with Daemon(tmp_path, config, "--set", "gateway.listen=127.0.0.1:0", "--set",
                f"run.folder={tmp_path}/runs", "--set", "model.threads=1") as running:
        yield running


def state(daemon):
    return json.loads(daemon.get("/admin/state"))


class Agent:
    """A rollout of the training, and a chat in it with a tool that is strict or not."""

    def __init__(self, daemon, is_strict):
        self.daemon, (status, self.rollout) = daemon, daemon.post("/admin/rollouts")
        assert status == 201 and self.rollout["mode"] == "train", self.rollout
        self.client = openai.OpenAI(base_url=self.rollout["base_url"], api_key=self.rollout["api_key"], max_retries=0)
        function = {"name": "bash", "description": "Run a command", "parameters": SHELL}
        self.tools = [{"type": "function", "function": function | ({"strict": True} if is_strict else {})}]
        self.messages = [{"role": "user", "content": "Write hello into hello.txt"}]

    def ask(self):
        reply = self.client.chat.completions.create(model="policy", messages=self.messages, tools=self.tools)
        self.messages.append(reply.choices[0].message.model_dump(exclude_none=True))
        return reply.choices[0].message

    def use_tool(self):
        call = self.ask().tool_calls[0]
        assert json.loads(call.function.arguments) == {"command": "echo hello > hello.txt"}
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": ""})

    def finish(self, reward):
        path = self.rollout["reward_url"].removeprefix(self.daemon.url)
        event = {"event_type": "reward", "data": {"value": reward}}
        assert self.daemon.post(path, event, key=self.rollout["api_key"])[0] == 200
        end = f"/admin/rollouts/{self.rollout['rollout_id']}/attempt/{self.rollout['attempt']}/finish"
        assert self.daemon.post(end)[0] == 200


def test_held_calls_of_training_rollouts_are_trained_once(daemon):
    agents = [Agent(daemon, is_strict) for is_strict in (False, True)]
    for agent in agents:
        agent.use_tool()
    assert daemon.post("/admin/pause")[0] == 200
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = [pool.submit(agent.ask) for agent in agents]
        wait_until(lambda: state(daemon)["requests_held"] == 2, 20, "both are held")
        assert daemon.post("/admin/resume")[0] == 200
        assert [each.result(60).content for each in asked] == ["Done: hello.txt is there."] * 2
    for reward, agent in enumerate(agents):
        agent.finish(reward)
    wait_until(lambda: state(daemon)["updates_done"] == 1, 60, "the update")
    folder = state(daemon)["folder"]
    for agent in agents:
        rollout, _ = held.inspected(BINARY, folder, str(agent.rollout["rollout_id"]))
        words, problems = held.account(rollout, None, True)
        assert problems == [] and words == ["2 calls", "2 trained once, in version 1"], (words, problems)
    run, balances = held.inspected(BINARY, folder)
    assert balances and held.accounts_words(run) == "4 calls = 4 trained + 0 waiting + 0 dropped"
