"""A harness of one's own on the openai client: several prompts in one conversation, and conversations that
take turns, as sub-agents do. Arguments go back as Python prints them.

usage: own_loop.py BASE_URL MODEL PROMPTS_JSON      a list of conversations, each a list of prompts
"""
import json
import os
import subprocess
import sys

import openai

TURNS_MAX = 30
BASH = {"name": "bash", "description": "Runs a command in bash.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}


class Conversation:
    """step() makes one call; False once the last prompt has its answer."""

    def __init__(self, client, model, prompts, number):
        self.client, self.model, self.prompts = client, model, list(prompts)
        self.messages = [{"role": "system", "content": f"You are agent {number}. Use the tool."}]
        self.say()

    def say(self):
        self.messages.append({"role": "user", "content": self.prompts.pop(0)})

    def step(self):
        message = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=[{"type": "function", "function": BASH}]).choices[0].message
        answer = message.model_dump(exclude_none=True)
        self.messages.append(answer)
        for call in answer.get("tool_calls", []):
            arguments = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(arguments)
            done = subprocess.run(["bash", "-c", arguments["command"]], capture_output=True, text=True, timeout=60)
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})
        if answer.get("tool_calls"):
            return True
        if not self.prompts:
            return False
        self.say()
        return True


def main():
    base_url, model, prompts = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url.rstrip("/") + "/v1", api_key=os.environ["OPENAI_API_KEY"], max_retries=0)
    open_ones = [Conversation(client, model, each, number) for number, each in enumerate(json.loads(prompts))]
    for _ in range(TURNS_MAX):
        open_ones = [each for each in open_ones if each.step()]
    sys.exit(f"no end after {TURNS_MAX} turns" if open_ones else 0)


if __name__ == "__main__":
    main()
