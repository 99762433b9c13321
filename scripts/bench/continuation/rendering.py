"""A request's prompt as a server makes it that keeps nothing between calls: its messages in chat form, rendered
by the chat template as transformers renders them, encoded from scratch. Independent of the daemon's code.
"""
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox
import tokenizers

TOOL_KEYS = ("name", "description", "parameters")


def text_of(content):
    """Parts as vLLM joins them for templates that take texts."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") in ("text", "input_text", "output_text"))
    return content or ""


def parsed(arguments):
    """As vLLM does: templates are given objects."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def call_of(name, arguments):
    return {"type": "function", "function": {"name": name, "arguments": parsed(arguments)}}


def of_chat(body):
    messages = []
    for sent in body["messages"]:
        role = "system" if sent["role"] == "developer" else sent["role"]
        message = {"role": role, "content": text_of(sent.get("content"))}
        if sent.get("tool_calls"):
            message["tool_calls"] = [call_of(call["function"]["name"], call["function"]["arguments"])
                                     for call in sent["tool_calls"]]
        if sent.get("reasoning_content"):
            message["reasoning_content"] = sent["reasoning_content"]
        messages.append(message)
    return messages, body.get("tools") or []


def add_message_blocks(sent, messages):
    """An Anthropic message is one or more chat messages: tool results stand alone."""
    message = {"role": sent["role"], "content": ""}
    texts = []
    for block in sent["content"] if isinstance(sent["content"], list) else [{"type": "text", "text": sent["content"]}]:
        if block["type"] == "tool_result":
            messages.append({"role": "tool", "content": text_of(block.get("content"))})
        elif block["type"] == "tool_use":
            message.setdefault("tool_calls", []).append(call_of(block["name"], block["input"]))
        elif block["type"] == "thinking":
            message["reasoning_content"] = block["thinking"]
        elif block["type"] == "text":
            texts.append(block["text"])
    message["content"] = "\n".join(texts)
    if texts or len(message) > 2:
        messages.append(message)


def of_anthropic(body):
    messages = [{"role": "system", "content": text_of(body["system"])}] if body.get("system") else []
    for sent in body["messages"]:
        add_message_blocks(sent, messages)
    tools = [{"type": "function", "function": {"name": tool["name"], "description": tool.get("description", ""),
                                               "parameters": tool["input_schema"]}}
             for tool in body.get("tools") or [] if "input_schema" in tool]
    return messages, tools


def add_item(item, messages):
    """Reasoning, text and calls of one turn come as items of their own."""
    kind = item.get("type", "message")
    is_turn = kind in ("reasoning", "function_call") or item.get("role") == "assistant"
    if is_turn and (not messages or messages[-1]["role"] != "assistant"):
        messages.append({"role": "assistant", "content": ""})
    if kind == "message":
        content = text_of(item.get("content"))
        if is_turn:
            messages[-1]["content"] += content
        else:
            messages.append({"role": "system" if item["role"] == "developer" else item["role"], "content": content})
    elif kind == "reasoning":
        thoughts = [part["text"] for part in [*(item.get("content") or []), *(item.get("summary") or [])]]
        if thoughts:
            messages[-1]["reasoning_content"] = "".join(thoughts)
    elif kind == "function_call":
        messages[-1].setdefault("tool_calls", []).append(call_of(item["name"], item["arguments"]))
    elif kind == "function_call_output":
        output = item["output"]
        messages.append({"role": "tool", "content": output if isinstance(output, str) else text_of(output)})


def of_responses(body):
    messages = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
    sent = body["input"]
    for item in [{"role": "user", "content": sent}] if isinstance(sent, str) else sent:
        add_item(item, messages)
    tools = [{"type": "function", "function": {key: tool[key] for key in TOOL_KEYS if key in tool}}
             for tool in body.get("tools") or [] if tool.get("type") == "function"]
    return messages, tools


def chat_form(path, body):
    form = {"messages": of_anthropic, "responses": of_responses}.get(path.split("?")[0].rsplit("/", 1)[1], of_chat)
    return form(body)


def fold_systems(messages):
    """System messages after the first are said by the user, since templates refuse, drop or move them."""
    later = [message | {"role": "user"} if message["role"] == "system" else message for message in messages[1:]]
    return messages[:1] + later


class Renderer:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        own = folder / "chat_template.jinja"
        source = own.read_text(encoding="utf-8") if own.exists() else config["chat_template"]
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                                   extensions=[jinja2.ext.loopcontrols])
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        self.template = environment.from_string(source)
        self.special = {name: config[name] for name in ("bos_token", "eos_token") if isinstance(config.get(name), str)}

    def text(self, path, body):
        messages, tools = chat_form(path, body)
        return self.template.render(messages=fold_systems(messages), tools=tools or None, add_generation_prompt=True,
                                    **self.special)

    def ids(self, path, body):
        return self.tokenizer.encode(self.text(path, body), add_special_tokens=False).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False)
