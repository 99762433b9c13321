"""The gateway of the real daemon with the stock client."""
import socket
import threading
import time

import openai
import pytest
from daemon import Daemon, wait_until, write_config


@pytest.fixture(scope="module")
def daemon(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    with Daemon(folder, write_config(folder, model, {"sampling": {"max_tokens": 256}, "model": {"dtype": "float32"}})) as running:
        yield running


@pytest.fixture
def client(daemon):
    return openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=0)


def chat(client, **options):
    return client.chat.completions.create(**({"model": "any", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 12} | options))


def test_a_reply_has_usage_and_echoes_the_model(client):
    reply = chat(client, model="some-name", seed=1)
    assert reply.model == "some-name"
    assert reply.usage.completion_tokens <= 12
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.choices[0].finish_reason in ("stop", "length")


def test_streamed_equals_unstreamed_under_a_seed(client):
    whole = chat(client, seed=7, max_tokens=40)
    chunks = list(chat(client, seed=7, max_tokens=40, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == whole.choices[0].finish_reason


def test_n_choices_differ_and_seeds_repeat(client):
    texts = [choice.message.content for choice in chat(client, n=4, seed=3, max_tokens=24).choices]
    assert len(set(texts)) == 4
    assert [choice.message.content for choice in chat(client, n=4, seed=3, max_tokens=24).choices] == texts


def test_greedy_is_repeatable(client):
    assert chat(client, temperature=0).choices[0].message.content == chat(client, temperature=0).choices[0].message.content


def test_stop_strings_end_the_text_before_them(client):
    full = chat(client, seed=11, max_tokens=60).choices[0].message.content
    stop = full[5:7]
    cut = chat(client, seed=11, max_tokens=60, stop=stop).choices[0]
    assert cut.finish_reason == "stop"
    assert cut.message.content == full[:full.index(stop)]


def test_logprobs_are_those_of_the_tokens(client):
    reply = chat(client, seed=5, logprobs=True, top_logprobs=3)
    content = reply.choices[0].logprobs.content
    assert len(content) in (reply.usage.completion_tokens, reply.usage.completion_tokens - 1)
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 3 for token in content)
    assert all(token.top_logprobs[0].logprob >= token.logprob - 1e-6 for token in content)


@pytest.mark.parametrize("field,value", [("temperature", -1), ("max_tokens", 0), ("n", 0), ("messages", []), ("top_p", 7)])
def test_bad_values_are_refused_by_name(client, field, value):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, **{field: value})
    assert field in str(refused.value)


def test_what_would_change_the_result_is_refused_by_name(client):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, extra_body={"use_beam_search": True})
    assert "use_beam_search" in str(refused.value)


# What was sampled, as a prompt: each token's log-probability is the one that it was drawn with.
def test_prompt_logprobs_are_those_that_the_same_tokens_were_drawn_with(client):
    reply = chat(client, seed=5, logprobs=True, extra_body={"return_token_ids": True, "prompt_logprobs": 2})
    of_prompt = reply.prompt_logprobs
    assert of_prompt[0] is None and len(of_prompt) == len(reply.prompt_token_ids) == reply.usage.prompt_tokens
    for token, entries in zip(reply.prompt_token_ids[1:], of_prompt[1:]):
        ranks = sorted(entry["rank"] for entry in entries.values())
        assert str(token) in entries and ranks[:2] == [1, 2] and len(ranks) <= 3
        assert all(entry["logprob"] <= 0 and isinstance(entry["decoded_token"], str) for entry in entries.values())
    drawn = [token.logprob for token in reply.choices[0].logprobs.content]
    ids = reply.prompt_token_ids + reply.choices[0].token_ids
    again = client.completions.create(model="any", prompt=ids, max_tokens=1, extra_body={"prompt_logprobs": 0})
    scored = again.choices[0].prompt_logprobs
    assert again.usage.prompt_tokens_details.cached_tokens == 0      # though the prompt is in the cache
    own = [entries[str(token)]["logprob"] for token, entries in zip(ids[1:], scored[1:])]
    before = [entries[str(token)]["logprob"] for token, entries in zip(ids[1:], of_prompt[1:])]
    assert own == pytest.approx(before + drawn, abs=1e-3)


# OpenAI's older way to score a text, which evaluation harnesses use.
def test_sglangs_route_scores_the_same_tokens_alike(daemon, client):
    reply = chat(client, seed=5, logprobs=True, extra_body={"return_token_ids": True})
    prompt, drawn = reply.prompt_token_ids, reply.choices[0].token_ids
    body = {"input_ids": prompt + drawn, "return_logprob": True, "logprob_start_len": len(prompt) - 1,
            "sampling_params": {"max_new_tokens": 0}}
    status, scored = daemon.post("/generate", body)
    assert status == 200 and scored["output_ids"] == []
    first, *others = scored["meta_info"]["input_token_logprobs"]
    assert first[:2] == [None, prompt[-1]] and [token for _, token, _ in others] == drawn
    shown = [token.logprob for token in reply.choices[0].logprobs.content]
    assert [logprob for logprob, _, _ in others][:len(shown)] == pytest.approx(shown, abs=1e-3)


def test_an_echo_has_the_logprobs_of_the_prompt_and_of_what_was_drawn(client):
    def complete(prompt, **options):
        extra = {"return_token_ids": True, "prompt_logprobs": options.pop("prompt_logprobs", None)}
        return client.completions.create(model="any", prompt=prompt, logprobs=2, seed=5, extra_body=extra, **options)
    start = "The quick brown fox"
    drawn = complete(start, max_tokens=8).choices[0]
    ids = drawn.prompt_token_ids + drawn.token_ids
    scored = complete(ids, max_tokens=0, echo=True, prompt_logprobs=2)
    choice = scored.choices[0]
    lists = choice.logprobs
    assert scored.usage.completion_tokens == 0 and choice.token_ids == [] and choice.finish_reason == "length"
    assert len(lists.tokens) == len(ids) and choice.text.startswith(start)
    assert lists.token_logprobs[0] is None and lists.top_logprobs[0] is None
    # The very numbers that prompt_logprobs has, and those that the tokens were drawn with.
    of_prompt = [entries[str(token)]["logprob"] for token, entries in zip(ids[1:], choice.prompt_logprobs[1:])]
    assert lists.token_logprobs[1:] == of_prompt
    assert lists.token_logprobs[len(drawn.prompt_token_ids):] == pytest.approx(drawn.logprobs.token_logprobs, abs=1e-3)
    for entries, top in zip(choice.prompt_logprobs[1:len(start)], lists.top_logprobs[1:]):   # each token has a name
        assert max(top.values()) == max(entry["logprob"] for entry in entries.values())
    # In one call: the same prompt and, under the same seed, the same draws.
    both = complete(start, max_tokens=8, echo=True).choices[0]
    assert both.text == start + drawn.text and both.token_ids == drawn.token_ids
    assert both.logprobs.tokens[len(start):] == drawn.logprobs.tokens
    assert both.logprobs.token_logprobs[1:] == pytest.approx(lists.token_logprobs[1:], abs=1e-3)
    assert both.logprobs.text_offset[:len(start) + 1] == list(range(len(start) + 1))   # a byte a token
    assert [offset - len(start) for offset in both.logprobs.text_offset[len(start):]] == drawn.logprobs.text_offset


def test_an_echo_in_a_stream_says_what_a_whole_reply_says(client):
    ask = dict(model="any", prompt="abc", seed=5, max_tokens=4, echo=True, logprobs=0)
    choices = [chunk.choices[0] for chunk in client.completions.create(**ask, stream=True)]
    whole = client.completions.create(**ask).choices[0]
    assert "".join(choice.text for choice in choices) == whole.text
    assert choices[0].text == "abc" and len(choices[0].logprobs.tokens) == 3
    lists = [choice.logprobs for choice in choices if choice.logprobs is not None]
    for name in ("tokens", "text_offset"):
        assert sum((getattr(one, name) for one in lists), []) == getattr(whole.logprobs, name)
    streamed = sum((one.token_logprobs for one in lists), [])
    assert streamed[0] is None and streamed[1:] == pytest.approx(whole.logprobs.token_logprobs[1:], abs=1e-3)


@pytest.mark.parametrize("options", [{"extra_body": {"prompt_logprobs": 21}},
                                     {"extra_body": {"prompt_logprobs": 1}, "stream": True}])
def test_prompt_logprobs_are_limited_and_not_in_a_stream(client, options):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, **options)
    assert "prompt_logprobs" in str(refused.value)


def test_models_health_and_metrics(client, daemon):
    assert [model.id for model in client.models.list()]
    assert daemon.get("/healthz") and daemon.get("/readyz")
    assert "corisco_gateway_requests_total" in daemon.get("/metrics")


def test_a_client_that_leaves_frees_its_slot(daemon):
    host, port = daemon.url[7:].split(":")
    # Eight choices: a random reply may be short, but not all of them.
    body = b'{"model":"m","stream":true,"max_tokens":256,"n":8,"messages":[{"role":"user","content":"hi"}]}'
    before = daemon.metric("corisco_gateway_undelivered_calls_total")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        received = 0
        while received < 8000:               # past the heads: tokens are under way
            received += len(connection.recv(1000))
    wait_until(lambda: daemon.metric("corisco_engine_sequences_running") == 0
               and daemon.metric("corisco_gateway_undelivered_calls_total") > before, 5, "the slots are free")


def test_requests_are_held_while_paused(client, daemon):
    assert daemon.post("/admin/pause")[0] == 200
    replies = []
    thread = threading.Thread(target=lambda: replies.append(chat(client)))
    thread.start()
    time.sleep(0.5)
    assert not replies and daemon.metric("corisco_gateway_held_requests") == 1
    assert daemon.post("/admin/resume")[0] == 200
    thread.join(10)
    assert len(replies) == 1


def test_a_rollout_opened_over_http(daemon):
    status, opened = daemon.post("/admin/rollouts", {"task": {"topic": "x"}, "mode": "val"})
    assert status in (200, 201), opened
    client = openai.OpenAI(base_url=opened["base_url"], api_key=opened["api_key"], max_retries=0)
    chat(client)
    reward = opened["reward_url"].removeprefix(daemon.url)
    event = {"event_type": "reward", "data": {"value": float("inf")}}
    assert daemon.post(reward, event, key=opened["api_key"])[0] == 400
    assert daemon.post(reward, event | {"data": {"value": 0.5}}, key="wrong")[0] == 401
    assert daemon.post(reward, event | {"data": {"value": 0.5}}, key=opened["api_key"])[0] == 200
    assert daemon.post(reward, event | {"data": {"value": 0.7}}, key=opened["api_key"])[0] == 409


def test_a_model_that_is_only_served_has_nothing_to_save(daemon):
    status, reply = daemon.post("/admin/checkpoint")
    assert status == 409 and "run.updates is 0" in reply["error"]["message"], reply
