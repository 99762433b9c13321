"""What a recorded reply gave its client, in any of the three wire formats, streamed or not: the strings that
come back in later requests, each under the name of what it is ("text", "call 1 id", ...).
"""
import json


def events_of(raw):
    """The objects of an event stream."""
    lines = [line[6:] for line in raw.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def is_stream(raw):
    return raw.startswith(("data:", "event:"))


def chat_message(raw):
    """A streamed message put together, or the whole one."""
    if not is_stream(raw):
        return json.loads(raw)["choices"][0]["message"]
    message, calls = {"content": "", "reasoning_content": ""}, {}
    for event in events_of(raw):
        delta = (event.get("choices") or [{}])[0].get("delta") or {}
        for key in message:
            message[key] += delta.get(key) or ""
        for piece in delta.get("tool_calls") or []:
            call = calls.setdefault(piece["index"], {"id": "", "function": {"arguments": ""}})
            call["id"] += piece.get("id") or ""
            call["function"]["arguments"] += (piece.get("function") or {}).get("arguments") or ""
    return message | {"tool_calls": list(calls.values())}


def chat_strings(raw):
    message = chat_message(raw)
    found = {"text": message.get("content"), "reasoning": message.get("reasoning_content")}
    for number, call in enumerate(message.get("tool_calls") or []):
        found |= {f"call {number} id": call["id"], f"call {number} arguments": call["function"]["arguments"]}
    return found


def response_strings(raw):
    whole = json.loads(raw) if not is_stream(raw) else [
        event["response"] for event in events_of(raw) if "output" in event.get("response", {})][-1]
    found, num_calls = {"id": whole["id"]}, 0
    for item in whole["output"]:
        name = {"message": "text", "reasoning": "reasoning"}.get(item["type"], f"call {num_calls}")
        num_calls += item["type"] == "function_call"
        for key in ("id", "call_id", "arguments", "encrypted_content"):
            found[f"{name} {key}"] = item.get(key)
        parts = [*(item.get("content") or []), *(item.get("summary") or [])]
        found |= {f"{name} part {number}": part.get("text") for number, part in enumerate(parts)}
    return found


def message_blocks(raw):
    if not is_stream(raw):
        return json.loads(raw)["content"]
    blocks = []
    for event in events_of(raw):
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        if event["type"] == "content_block_delta":
            for key in ("text", "thinking", "signature"):
                blocks[-1][key] = blocks[-1].get(key, "") + event["delta"].get(key, "")
    return blocks


def message_strings(raw):
    found, num_calls = {}, 0
    for block in message_blocks(raw):
        if block["type"] == "tool_use":
            found[f"call {num_calls} id"] = block["id"]
            num_calls += 1
        elif block["type"] == "thinking":
            found |= {"reasoning": block["thinking"], "signature": block.get("signature")}
        else:
            found["text"] = block.get("text")
    return found


def strings_of(path, raw):
    """{name: text}; empty for a reply that is no turn."""
    readers = {"completions": chat_strings, "responses": response_strings, "messages": message_strings}
    reader = readers.get(path.split("?")[0].rsplit("/", 1)[1])
    try:
        return {name: text for name, text in reader(raw).items() if text} if reader else {}
    except (ValueError, KeyError, IndexError):   # cut short, or an error
        return {}
