"""More connections than the daemon has places for."""
import concurrent.futures
import http.client
import json
import re
import resource

import openai
import pytest
from daemon import Daemon, wait_until, write_config

PLACES = 8
OTHER_FILES = 256 + 64          # the daemon's own, and the connections that are told to come later


@pytest.fixture(scope="module")
def daemon(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("overload")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, OTHER_FILES), hard))
    running = Daemon(folder, write_config(folder, model, {"gateway": {"connections_max": PLACES}}))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with running:
        yield running


@pytest.fixture(scope="module")
def full(daemon):
    """The daemon with each of its places taken by a connection that is kept open."""
    holders = [http.client.HTTPConnection(daemon.url.removeprefix("http://"), timeout=20) for _ in range(PLACES)]
    for holder in holders:
        holder.request("GET", "/healthz")
        assert holder.getresponse().read() == b"ok\n"
    yield daemon
    for holder in holders:
        holder.close()


def refusal(daemon, body):
    connection = http.client.HTTPConnection(daemon.url.removeprefix("http://"), timeout=20)
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, reply.headers["Retry-After"], reply.headers["Connection"], json.loads(text)["error"]["code"]


def resident_kb(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))


def test_every_connection_may_be_a_file(daemon):
    with open(f"/proc/{daemon.process.pid}/limits") as limits:
        assert int(re.search(r"Max open files +(\d+)", limits.read()).group(1)) == OTHER_FILES + PLACES


def test_probes_metrics_and_admin_answer_when_all_places_are_taken(full):
    assert full.get("/healthz") == "ok\n" and full.get("/readyz") == "ready\n"
    wait_until(lambda: full.metric("corisco_gateway_connections") == PLACES + 1, 5, "this one's alone beyond them")
    assert json.loads(full.get("/admin/state"))["paused"] is False
    assert full.post("/admin/pause")[0] == 200 and full.post("/admin/resume")[0] == 200


def test_calls_are_told_to_come_later(full):
    client = openai.OpenAI(base_url=full.url + "/v1", api_key="none", max_retries=0)
    with pytest.raises(openai.RateLimitError) as refused:
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hi"}])
    assert refused.value.code == "overloaded"
    assert refused.value.response.headers["retry-after"] == "1"


def test_refusing_takes_no_memory(full):
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 40000}]})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        def refuse(count):
            return set(pool.map(lambda _: refusal(full, body), range(count)))
        told = refuse(200)
        before = resident_kb(full)
        told |= refuse(2000)
    assert told == {(429, "1", "close", "overloaded")}
    assert resident_kb(full) - before < 8192


def test_a_place_that_is_free_again_is_taken(model, tmp_path):
    with Daemon(tmp_path, write_config(tmp_path, model, {"gateway": {"connections_max": 1}})) as daemon:
        client = openai.OpenAI(base_url=daemon.url + "/v1", api_key="none", max_retries=5)
        holder = http.client.HTTPConnection(daemon.url.removeprefix("http://"), timeout=20)
        holder.request("GET", "/healthz")
        holder.getresponse().read()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            call = pool.submit(client.chat.completions.create, model="any", max_tokens=4,
                               messages=[{"role": "user", "content": "hi"}])
            while daemon.metric('corisco_gateway_rejected_requests_total{reason="overloaded"}') == 0:
                assert not call.done()
            holder.close()
            assert call.result(60).choices
