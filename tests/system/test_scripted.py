"""The daemon with a script in the model's place: every wire format, tools, holds, through stock clients."""
import json
import pathlib
import threading
import time

import anthropic
import openai
import pytest
from daemon import Daemon, wait_until

CONFIG = pathlib.Path(__file__).parents[2] / "configs/scripted.yaml"
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TASK = "Write hello into hello.txt"
COMMAND = "echo hello > hello.txt"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripted")
    with Daemon(folder, CONFIG, "--set", "gateway.listen=127.0.0.1:0", "--set", f"run.folder={folder}/runs") as running:
        yield running


@pytest.fixture
def client(daemon):
    return openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=0)


@pytest.fixture
def anthropic_client(daemon):
    return anthropic.Anthropic(base_url=daemon.url, api_key="none", max_retries=0)


def creator(api, get_final, is_stream):
    """api's create, or what its stream helper puts together in the end."""
    def streamed(**options):
        with api.stream(**options) as stream:
            return getattr(stream, get_final)()

    return streamed if is_stream else api.create


TOOL = {"type": "function", "function": {"name": "bash", "description": "Run a command", "parameters": SHELL}}


def test_chat_tool_loop(client):
    messages = [{"role": "user", "content": TASK}]
    reply = client.chat.completions.create(model="policy", messages=messages, tools=[TOOL])
    message = reply.choices[0].message
    assert reply.choices[0].finish_reason == "tool_calls"
    assert json.loads(message.tool_calls[0].function.arguments)["command"] == COMMAND
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": ""}]
    last = client.chat.completions.create(model="policy", messages=messages, tools=[TOOL]).choices[0]
    assert (last.finish_reason, last.message.content) == ("stop", "Done: hello.txt is there.")


# SDKs mark tools as strict by themselves; the script's calls are what its author wrote.
def test_strict_tools_do_not_bind_a_script(client, daemon):
    strict = {**TOOL["function"], "strict": True, "parameters": {
        "type": "object", "properties": {"argv": {"type": "array", "items": {"type": "string"}}}, "required": ["argv"],
        "additionalProperties": False}}
    reply = client.chat.completions.create(model="policy", messages=[{"role": "user", "content": TASK}],
                                           tools=[{"type": "function", "function": strict}])
    assert json.loads(reply.choices[0].message.tool_calls[0].function.arguments)["command"] == COMMAND
    assert daemon.metric('corisco_gateway_constrained_calls_total{constraint="unenforced_strict_tools"}') > 0


def test_streamed_chat_equals_unstreamed(client):
    ask = dict(model="policy", messages=[{"role": "user", "content": TASK}], tools=[TOOL])
    whole = client.chat.completions.create(**ask).choices[0].message
    with client.chat.completions.stream(**ask) as stream:
        streamed = stream.get_final_completion().choices[0].message
    assert streamed.content == whole.content
    assert streamed.tool_calls[0].function.arguments == whole.tool_calls[0].function.arguments


@pytest.mark.parametrize("is_stream", [False, True])
def test_responses_tool_loop(client, is_stream):
    ask = dict(model="policy", input=[{"role": "user", "content": TASK}],
               tools=[{"type": "function", "name": "bash", "parameters": SHELL, "strict": False}])

    create = creator(client.responses, "get_final_response", is_stream)
    reply = create(**ask)
    call = next(item for item in reply.output if item.type == "function_call")
    assert json.loads(call.arguments)["command"] == COMMAND
    assert reply.output_text == "I will write the file.\n"
    ask["input"] += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output]
    ask["input"].append({"type": "function_call_output", "call_id": call.call_id, "output": ""})
    assert create(**ask).output_text == "Done: hello.txt is there."


@pytest.mark.parametrize("is_stream", [False, True])
def test_messages_tool_loop(anthropic_client, is_stream):
    ask = dict(model="policy", max_tokens=500, messages=[{"role": "user", "content": TASK}],
               tools=[{"name": "bash", "input_schema": SHELL}])

    create = creator(anthropic_client.messages, "get_final_message", is_stream)
    reply = create(**ask)
    call = next(block for block in reply.content if block.type == "tool_use")
    assert (reply.stop_reason, call.input["command"]) == ("tool_use", COMMAND)
    ask["messages"] += [{"role": "assistant", "content": reply.content},
                        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": ""}]}]
    assert create(**ask).content[0].text == "Done: hello.txt is there."


def test_a_paused_daemon_holds_and_then_answers(daemon, client):
    assert daemon.post("/admin/pause")[0] == 200
    replies = []
    asking = threading.Thread(target=lambda: replies.append(
        client.chat.completions.create(model="policy", messages=[{"role": "user", "content": "hi"}])))
    asking.start()
    wait_until(lambda: daemon.metric("corisco_gateway_held_requests ") == 1, 10, "the request is held")
    time.sleep(0.5)
    assert not replies
    assert daemon.post("/admin/resume")[0] == 200
    asking.join(10)
    assert replies[0].choices[0].finish_reason == "stop"


def test_a_prompt_without_a_rule_is_told(tmp_path):
    script = tmp_path / "rules.jsonl"
    script.write_text('{"if": ["never"], "reply": "x"}\n')
    with Daemon(tmp_path, CONFIG, "--set", "gateway.listen=127.0.0.1:0", "--set", f"run.folder={tmp_path}/runs",
                "--set", f"engine.script={script}") as daemon:
        status, reply = daemon.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]})
    assert status == 400
    assert "no rule of" in reply["error"]["message"]


def test_a_script_has_no_log_probabilities_of_prompts(client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="policy", messages=[{"role": "user", "content": "hi"}],
                                       extra_body={"prompt_logprobs": 1})
    assert "'prompt_logprobs', or 'echo' with 'logprobs', needs a model" in str(refused.value)
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="policy", prompt=TASK, echo=True, logprobs=0, max_tokens=0)
    assert "'echo' with 'logprobs', needs a model" in str(refused.value)
    alone = client.completions.create(model="policy", prompt=TASK, echo=True, max_tokens=0)
    assert alone.choices[0].text == TASK and alone.usage.completion_tokens == 0


def test_a_script_has_no_weights_to_save(daemon):
    status, reply = daemon.post("/admin/checkpoint")
    assert status == 409, reply
    assert "engine.script" in reply["error"]["message"] and "run.updates" in reply["error"]["message"]
    state = json.loads(daemon.get("/admin/state"))
    assert state["checkpoint"] is None and state["checkpoint_pending"] is False


def test_a_checkpoint_needs_the_admins_key(tmp_path):
    with Daemon(tmp_path, CONFIG, "--set", "gateway.listen=127.0.0.1:0", "--set", f"run.folder={tmp_path}/runs",
                "--set", "gateway.admin_key=adm1n") as daemon:
        assert daemon.post("/admin/checkpoint")[0] == 401
        assert daemon.post("/admin/checkpoint", key="adm2n")[0] == 401
        assert daemon.post("/admin/checkpoint", key="adm1n")[0] == 409     # which is the script's refusal
