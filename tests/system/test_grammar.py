"""Replies of a random model that must obey a grammar: whatever it draws, they do."""
import json

import anthropic
import openai
import pytest
from daemon import Daemon, write_config

SCHEMA = {"type": "object", "required": ["city", "days", "sunny"], "additionalProperties": False,
          "properties": {"city": {"enum": ["Paris", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 99},
                         "sunny": {"type": "boolean"}}}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA, "strict": True}} for name in ("plan", "cancel")]
SEEDS = range(6)


@pytest.fixture(scope="module")
def daemon(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grammar")
    changes = {"sampling": {"max_tokens": 900}, "gateway": {"tool_parser": "hermes"}}
    with Daemon(folder, write_config(folder, model, changes)) as running:
        yield running


@pytest.fixture
def client(daemon):
    return openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=0)


def chat(client, seed, **options):
    return client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hello"}], seed=seed,
                                          max_tokens=900, **options)


def obeys(text):
    value = json.loads(text)
    assert set(value) == {"city", "days", "sunny"}
    return value["city"] in ("Paris", "Oslo") and 1 <= value["days"] <= 99 and isinstance(value["sunny"], bool)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_schema_is_obeyed(client, seed):
    form = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA, "strict": True}}
    choice = chat(client, seed, response_format=form).choices[0]
    assert choice.finish_reason == "stop" and obeys(choice.message.content)
    chunks = chat(client, seed, response_format=form, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forced_call_is_a_call(client, seed):
    options = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    choice = chat(client, seed, **options).choices[0]
    assert choice.finish_reason == "tool_calls" and not choice.message.content
    [call] = choice.message.tool_calls
    assert call.function.name in ("plan", "cancel") and obeys(call.function.arguments)
    pieces = [piece for chunk in chat(client, seed, stream=True, **options)
              for piece in chunk.choices[0].delta.tool_calls or []]
    assert "".join(piece.function.arguments or "" for piece in pieces) == call.function.arguments
    assert pieces[0].function.name == call.function.name


def test_a_named_call_is_that_one(client):
    choice = {"type": "function", "function": {"name": "cancel"}}
    names = {call.function.name for seed in SEEDS
             for call in chat(client, seed, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False).choices[0].message.tool_calls}
    assert names == {"cancel"}


def test_a_forced_call_of_the_other_protocols(daemon, client):
    stock = anthropic.Anthropic(base_url=daemon.url, api_key="none", max_retries=0)
    message = stock.messages.create(
        model="any", max_tokens=900, messages=[{"role": "user", "content": "hello"}],
        tools=[{"name": "plan", "input_schema": SCHEMA}], tool_choice={"type": "tool", "name": "plan", "disable_parallel_tool_use": True})
    [block] = [block for block in message.content if block.type == "tool_use"]
    assert message.stop_reason == "tool_use" and obeys(json.dumps(block.input))
    response = client.responses.create(
        model="any", input="hello", max_output_tokens=900, parallel_tool_calls=False,
        tools=[{"type": "function", "name": "plan", "parameters": SCHEMA, "strict": True}], tool_choice="required")
    [item] = [item for item in response.output if item.type == "function_call"]
    assert item.name == "plan" and obeys(item.arguments)


def test_a_pattern_and_a_choice_are_obeyed(client):
    reply = chat(client, 1, extra_body={"guided_regex": "[a-c]{3}-[0-9]"}).choices[0].message.content
    assert len(reply) == 5 and reply[3] == "-" and set(reply[:3]) <= set("abc") and reply[4].isdigit()
    assert chat(client, 1, extra_body={"guided_choice": ["yes", "no"]}).choices[0].message.content in ("yes", "no")


def test_the_token_routes_obey_too(daemon):
    sampling = {"max_new_tokens": 900, "sampling_seed": 3}
    status, reply = daemon.post("/generate", {"text": "hello", "sampling_params": sampling | {"json_schema": json.dumps(SCHEMA)}})
    assert status == 200 and obeys(reply["text"])
    status, reply = daemon.post("/generate", {"text": "hello", "sampling_params": sampling | {"regex": "[a-c]{3}"}})
    assert status == 200 and len(reply["text"]) == 3 and set(reply["text"]) <= set("abc")
    status, reply = daemon.post("/generate", {"text": "hello", "sampling_params": sampling | {"regex": "("}})
    assert status == 400 and reply["error"]["param"] == "sampling_params.regex"
    prompt = daemon.post("/generate", {"text": "hello", "sampling_params": {"max_new_tokens": 1}})[1]
    choices = {"structured_outputs": {"choice": ["yes"]}, "max_tokens": 9}
    status, reply = daemon.post("/inference/v1/generate", {"token_ids": prompt["output_ids"], "sampling_params": choices})
    assert status == 200 and reply["choices"][0]["finish_reason"] == "stop" and len(reply["choices"][0]["token_ids"]) >= 2


def test_drawn_logprobs_are_of_what_was_allowed(client):
    """A choice of one text is forced byte by byte; its logprobs are still those of the whole vocabulary."""
    content = chat(client, 1, logprobs=True, extra_body={"guided_choice": ["yes"]}).choices[0].logprobs.content
    assert [token.token for token in content] == ["y", "e", "s"]
    assert all(token.logprob < -1 for token in content)


def test_what_cannot_be_enforced_is_refused_by_name(client):
    schema = {"type": "object", "if": {}, "then": {}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, 1, response_format=form)
    assert "response_format" in str(refused.value) and '"if"' in str(refused.value).replace("\\", "")


def test_constrained_calls_are_counted(daemon):
    assert daemon.metric('corisco_gateway_constrained_calls_total{constraint="form"}') > 0
