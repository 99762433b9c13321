"""A corpus of recorded conversations that may be kept in the tree: what agents do with replies and history stays,
their own words do not. Prompts, tools' descriptions and outputs give way to short texts of ours, equal where they
were equal and different where they differed.

usage: corpus.py RECORDINGS_FOLDER CORPUS_FILE      writes one rollout a line
"""
import hashlib
import json
import pathlib
import re
import sys

import replies
import turns

# What the script looks for in a prompt.
TELLING = re.compile(r"[a-z-]+-turn-\d+-done|(?:second half of )?exercise [a-z-]+ ?|Format error:|Tool call error:|"
                     r"You are a title generator")
KEPT = ("model", "stream", "stream_options", "max_tokens", "tool_choice", "thinking", "reasoning", "include", "store",
        "parallel_tool_calls")


def own_text(text):
    """The parts of a text that the script knows, and a mark of the rest."""
    parts = list(dict.fromkeys(TELLING.findall(text)))
    return " ".join([*parts, "text", hashlib.sha256(text.encode()).hexdigest()[:6]])


def own_content(content):
    if isinstance(content, str):
        return own_text(content)
    if isinstance(content, list):
        return [own_block(block) for block in content]
    return content


def own_block(block):
    return {key: own_text(value) if key == "text" else own_content(value) if key in ("content", "output") else value
            for key, value in block.items()}


def own_message(message):
    """What the model said stays; it is of the tasks."""
    if message.get("role") == "assistant" or message.get("type") in ("function_call", "reasoning"):
        return message
    return own_block(message) | ({"content": own_content(message["content"])} if "content" in message else {})


def own_parameters(schema, agent):
    """Names and types of the arguments that the tasks give."""
    _, key, more = turns.TOOLS[agent]
    given = {name: {"type": schema["properties"][name].get("type", "string")}
             for name in (key, *more) if name in schema["properties"]}
    required = [name for name in schema.get("required", []) if name in given]
    return {"type": "object", "properties": given, "required": required}


def own_tools(tools, agent):
    """The one that the conversation uses, in the form that it had."""
    name = turns.TOOLS.get(agent, ("",))[0]
    for tool in tools:
        facts = tool.get("function", tool)
        if facts.get("name") == name:
            key = "input_schema" if "input_schema" in facts else "parameters"
            own = {"name": name, key: own_parameters(facts[key], agent)}
            return [{"type": tool["type"], "function": own} if "function" in tool else
                    own | ({"type": tool["type"]} if "type" in tool else {})]
    return []


def own_body(body, agent):
    kept = {key: body[key] for key in KEPT if key in body}
    for key in ("system", "instructions"):
        if key in body:
            kept[key] = own_content(body[key])
    if body.get("tools"):
        kept["tools"] = own_tools(body["tools"], agent)
    key = "input" if "input" in body else "messages"
    kept[key] = [own_message(message) for message in body[key]] if isinstance(body[key], list) else own_text(body[key])
    return kept


def line_of(recording):
    """Messages that equal those of the call before are told by their number; an equal head is left out."""
    calls, before, head = [], [], None
    for call in recording["calls"]:
        body = own_body(json.loads(call["request"]), recording["agent"])
        key = "input" if "input" in body else "messages"
        messages = body.pop(key)
        same = 0
        while same < min(len(before), len(messages)) and before[same] == messages[same]:
            same += 1
        calls.append({"path": call["path"], "head": body if body != head else None, "key": key, "same": same,
                      "more": messages[same:], "strings": replies.strings_of(call["path"], call["reply"])})
        before, head = messages, body
    return {"agent": recording["agent"], "task": recording["task"], "order": recording["order"], "calls": calls}


def read(path):
    """The recordings of a corpus, as replay.py takes them."""
    for text in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        recording, before, head = json.loads(text), [], None
        for call in recording["calls"]:
            before, head = before[:call["same"]] + call["more"], call["head"] or head
            call["body"] = head | {call["key"]: before}
        yield recording


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
            recording = json.loads(path.read_text(encoding="utf-8"))
            file.write(json.dumps(line_of(recording), ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
