"""A harness and a reward that depend on their task and the replies alone; standard library only, so that a
run with them starts at once."""
import http.client
import json
import os
import time
import urllib.parse


def ask(messages):
    url = urllib.parse.urlparse(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    body = json.dumps({"model": "policy", "messages": messages})
    connection.request("POST", f"{url.path}/chat/completions", body,
                       {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    assert reply.status == 200, text
    return json.loads(text)["choices"][0]["message"]["content"]


def run(task):
    """Two turns, the second of which goes on from the first reply."""
    messages = [{"role": "user", "content": task["topic"]}]
    reply = ask(messages)
    ask(messages + [{"role": "assistant", "content": reply}, {"role": "user", "content": "again"}])


def tell(event):
    """One line of the file that the test reads."""
    attempt = os.path.basename(os.path.dirname(os.environ["CORISCO_TASK"]))
    line = {"event": event, "rollout": os.environ["CORISCO_ROLLOUT_ID"], "attempt": attempt.removeprefix("attempt-"),
            "key": os.environ["OPENAI_API_KEY"]}
    with open(os.environ["CORISCO_TEST_LOG"], "a") as file:
        file.write(json.dumps(line) + "\n")


def run_and_tell(task):
    """One call, with each step written down; hangs after it in the attempts that the test names."""
    tell("start")
    ask([{"role": "user", "content": task["topic"]}])
    tell("called")
    if os.environ.get("CORISCO_TEST_HANG") == os.path.basename(os.path.dirname(os.environ["CORISCO_TASK"])):
        time.sleep(1000)
    tell("end")


def reward(task, rollout):
    """The share of the replies' characters that are ASCII."""
    text = "".join(call["reply"] for call in rollout["calls"])
    return sum(character < "\x80" for character in text) / max(1, len(text))


def reward_of_every_second(task, rollout):
    """The same, but every second task gives all its rollouts the same reward: there is nothing to learn."""
    return reward(task, rollout) if int(task["id"].split("-")[1]) % 2 == 0 else 0.0
