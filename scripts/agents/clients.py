"""A small agent on each client library that docs/harnesses/README.md names: it runs the shell commands
that the model asks for in the current folder, until the model asks for none.

    clients.py NAME BASE_URL MODEL PROMPT      BASE_URL without /v1; the key is OPENAI_API_KEY

Replies are streamed, except where NAME ends in -whole.
"""
import asyncio
import json
import os
import subprocess
import sys

TURNS_MAX = 8
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"],
           "additionalProperties": False}
BASH = {"name": "bash", "description": "Runs a command in bash.", "parameters": COMMAND}


def run_bash(arguments):
    """The output of a call's command; arguments are JSON or what it parses to."""
    command = (json.loads(arguments) if isinstance(arguments, str) else arguments)["command"]
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


class ChatStream:
    """Puts the message of a streamed chat completion together."""

    def __init__(self, chunks):
        self.text, self.calls, self.finish = "", {}, None
        for chunk in chunks:
            for choice in chunk.choices:
                self.add(choice)
        if self.finish is None:
            raise RuntimeError("the stream ended without a finish reason")

    def add(self, choice):
        self.finish = choice.finish_reason or self.finish
        self.text += choice.delta.content or ""
        for piece in choice.delta.tool_calls or []:
            call = self.calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
            call["id"] = piece.id or call["id"]
            call["name"] += piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""

    def message(self):
        calls = [{"id": call["id"], "type": "function",
                  "function": {"name": call["name"], "arguments": call["arguments"]}}
                 for call in self.calls.values()]
        return {"role": "assistant", "content": self.text, **({"tool_calls": calls} if calls else {})}


def chat_turns(prompt, ask):
    """ask(messages) -> the assistant's message, as a dict."""
    messages = [{"role": "user", "content": prompt}]
    for _ in range(TURNS_MAX):
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message.get("content")
        messages += [{"role": "tool", "tool_call_id": call["id"],
                      "content": run_bash(call["function"]["arguments"])} for call in message["tool_calls"]]
    raise RuntimeError(f"no end after {TURNS_MAX} turns")


def openai_chat(base_url, model, prompt, streams):
    import openai
    create = openai.OpenAI(base_url=base_url + "/v1").chat.completions.create
    tools = [{"type": "function", "function": BASH}]

    def ask(messages):
        if streams:
            return ChatStream(create(model=model, messages=messages, tools=tools, stream=True)).message()
        return create(model=model, messages=messages, tools=tools).choices[0].message.model_dump(exclude_none=True)

    return chat_turns(prompt, ask)


def litellm_chat(base_url, model, prompt, streams, kind="openai"):
    import litellm
    address = base_url + "/v1" if kind == "openai" else base_url
    tools = [{"type": "function", "function": BASH}]

    def ask(messages):
        reply = litellm.completion(model=f"{kind}/{model}", api_base=address, api_key=os.environ["OPENAI_API_KEY"],
                                   messages=messages, tools=tools, stream=streams)
        if streams:
            reply = litellm.stream_chunk_builder(list(reply), messages=messages)
        return reply.choices[0].message.model_dump(exclude_none=True)

    return chat_turns(prompt, ask)


def litellm_anthropic(base_url, model, prompt, streams):
    return litellm_chat(base_url, model, prompt, streams, kind="anthropic")


def openai_responses(base_url, model, prompt, streams):
    import openai
    client = openai.OpenAI(base_url=base_url + "/v1")
    items = [{"role": "user", "content": prompt}]
    tools = [{"type": "function", "strict": True, **BASH}]
    for _ in range(TURNS_MAX):
        if streams:
            # get_final_response() takes a reply that the limit cut for none.
            with client.responses.stream(model=model, input=items, tools=tools) as stream:
                reply = [event.response for event in stream
                         if event.type in ("response.completed", "response.incomplete")][0]
        else:
            reply = client.responses.create(model=model, input=items, tools=tools)
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        items += [{"type": "function_call_output", "call_id": call.call_id, "output": run_bash(call.arguments)}
                  for call in calls]
    raise RuntimeError(f"no end after {TURNS_MAX} turns")


def anthropic_messages(base_url, model, prompt, streams):
    import anthropic
    client = anthropic.Anthropic(base_url=base_url, api_key=os.environ["OPENAI_API_KEY"])
    messages = [{"role": "user", "content": prompt}]
    tools = [{"name": BASH["name"], "description": BASH["description"], "input_schema": COMMAND}]
    for _ in range(TURNS_MAX):
        options = {"model": model, "max_tokens": 1000, "messages": messages, "tools": tools}
        if streams:
            with client.messages.stream(**options) as stream:
                reply = stream.get_final_message()
        else:
            reply = client.messages.create(**options)
        messages.append({"role": "assistant",
                         "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": run_bash(call.input)} for call in calls]})
    raise RuntimeError(f"no end after {TURNS_MAX} turns")


def agents_sdk(base_url, model, prompt, streams, kind="chat"):
    import agents
    import openai
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=base_url + "/v1")
    protocol = agents.OpenAIChatCompletionsModel if kind == "chat" else agents.OpenAIResponsesModel

    @agents.function_tool
    def bash(command: str) -> str:
        """Runs a command in bash."""
        return run_bash({"command": command})

    async def run():
        agent = agents.Agent(name="agent", instructions="Use the tool.", tools=[bash],
                             model=protocol(model=model, openai_client=client))
        if not streams:
            return await agents.Runner.run(agent, prompt, max_turns=TURNS_MAX)
        result = agents.Runner.run_streamed(agent, prompt, max_turns=TURNS_MAX)
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(run()).final_output


def agents_sdk_responses(base_url, model, prompt, streams):
    return agents_sdk(base_url, model, prompt, streams, kind="responses")


CLIENTS = {"openai-chat": openai_chat, "openai-responses": openai_responses, "openai-agents-chat": agents_sdk,
           "openai-agents-responses": agents_sdk_responses, "litellm-openai": litellm_chat,
           "litellm-anthropic": litellm_anthropic, "anthropic": anthropic_messages}

if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1].removesuffix("-whole") not in CLIENTS:
        sys.exit(f"usage: clients.py NAME[-whole] BASE_URL MODEL PROMPT, NAME one of {', '.join(CLIENTS)}")
    NAME, BASE_URL, MODEL, PROMPT = sys.argv[1:]
    print(CLIENTS[NAME.removesuffix("-whole")](BASE_URL.rstrip("/"), MODEL, PROMPT, not NAME.endswith("-whole")))
