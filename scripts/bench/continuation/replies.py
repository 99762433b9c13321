"""What a recorded reply gave its client, in any of the three wire formats, streamed or not: the strings that
come back in later requests.
"""
import json


def events_of(raw):
    """The objects of an event stream."""
    lines = [line[6:] for line in raw.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def chat_strings(raw):
    if not raw.startswith("data:"):
        message = json.loads(raw)["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        given = [[call["id"], call["function"]["arguments"]] for call in calls]
        return [message.get("content"), message.get("reasoning_content"), *sum(given, [])]
    text, reasoning, calls = "", "", {}
    for event in events_of(raw):
        delta = (event.get("choices") or [{}])[0].get("delta") or {}
        text += delta.get("content") or ""
        reasoning += delta.get("reasoning_content") or ""
        for piece in delta.get("tool_calls") or []:
            call = calls.setdefault(piece["index"], ["", ""])
            call[0] += piece.get("id") or ""
            call[1] += (piece.get("function") or {}).get("arguments") or ""
    return [text, reasoning, *sum(calls.values(), [])]


def response_strings(raw):
    if raw.startswith(("data:", "event:")):
        responses = [event["response"] for event in events_of(raw) if "output" in event.get("response", {})]
        whole = responses[-1]
    else:
        whole = json.loads(raw)
    found = [whole.get("id")]
    for item in whole["output"]:
        found += [item.get(key) for key in ("id", "call_id", "arguments", "encrypted_content")]
        for part in [*(item.get("content") or []), *(item.get("summary") or [])]:
            found.append(part.get("text"))
    return found


def message_strings(raw):
    blocks = json.loads(raw)["content"] if not raw.startswith(("data:", "event:")) else []
    for event in events_of(raw) if not blocks else []:
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        if event["type"] == "content_block_delta":
            for key in ("text", "thinking", "signature"):
                blocks[-1][key] = blocks[-1].get(key, "") + event["delta"].get(key, "")
    return [block.get(key) for block in blocks for key in ("id", "text", "thinking", "signature")]


def strings_of(path, raw):
    """In the reply's order; None where it has no such string. Empty for a reply that is no turn."""
    path = path.split("?")[0]
    try:
        if path.endswith("/chat/completions"):
            return chat_strings(raw)
        if path.endswith("/responses"):
            return response_strings(raw)
        if path.endswith("/messages"):
            return message_strings(raw)
    except (ValueError, KeyError, IndexError):   # cut short, or an error
        pass
    return []
