"""The agent that is trained: it asks for a sentence and, where the task has a second turn, asks again.

It knows nothing of training: a stock OpenAI client takes its address and key from the environment. The
daemon calls run(task) in a forked interpreter; `python3 harness.py` does the same as a command of its own.
"""
import json
import os

from openai import DefaultHttpxClient, OpenAI

# Done once, before the fork: reading the certificates, and loading the part of the package that is in use.
# Both together take ten times as long as everything else here.
HTTP = DefaultHttpxClient()
OpenAI(api_key="unused", base_url="http://127.0.0.1", http_client=HTTP).chat.completions.create


def run(task):
    client = OpenAI(max_retries=0, http_client=HTTP)
    asked, replied = task["example"]
    messages = [{"role": "system", "content": task["system"]}, {"role": "user", "content": asked},
                {"role": "assistant", "content": replied}]
    for turn in task["turns"]:
        messages.append({"role": "user", "content": turn})
        answer = client.chat.completions.create(model="policy", messages=messages)
        reply = answer.choices[0].message.content or ""
        messages.append({"role": "assistant", "content": reply})
        if answer.choices[0].finish_reason != "stop":
            return


if __name__ == "__main__":
    with open(os.environ["CORISCO_TASK"], encoding="utf-8") as file:
        run(json.load(file))
