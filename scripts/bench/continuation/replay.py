"""Sends recorded conversations to a daemon whose model writes and reads another form, as the agent would have.

Ids, signatures, texts and argument strings that a recorded reply gave and a later request repeats unchanged are
replaced by those of the replayed reply, or left out if it has none (reasoning, of a model without); what the agent
changed stays as the agent sent it.
"""
import http.client
import json
import threading

import replies
import servers


def strings_given(call):
    """What a recorded reply gave: as a corpus keeps it, or read from the reply."""
    return call["strings"] if "strings" in call else replies.strings_of(call["path"], call["reply"])


def is_left_out(value, strings):
    """A block or an item of what the replayed reply does not have."""
    keys = [value.get(key) for key in ("id", "text", "thinking")] if isinstance(value, dict) else []
    return any(isinstance(key, str) and strings.get(key, key) is None for key in keys)


def replaced(value, strings):
    """A request with every string that equals a recorded one replaced; None: left out."""
    if isinstance(value, str):
        return strings.get(value, value)
    if isinstance(value, list):
        return [replaced(each, strings) for each in value if not is_left_out(each, strings)]
    if isinstance(value, dict):
        new = {key: of_field(key, old, strings) for key, old in value.items()}
        return {key: each for key, each in new.items() if each is not None or value[key] is None}
    return value


def of_field(key, value, strings):
    """As replaced; a message whose content is left out stays one."""
    new = replaced(value, strings)
    return "" if key == "content" and value and not new else new


class Replay:
    def __init__(self, daemon, recording):
        self.daemon, self.calls, self.order = daemon, recording["calls"], recording["order"]
        self.rollout = daemon.open_rollout(recording["task"])
        self.prefix = "/" + self.rollout["base_url"].split("/", 3)[3].removesuffix("/v1")
        self.strings, self.sent, self.failures = {}, {}, []

    def is_turn(self, index):
        path = self.calls[index]["path"].split("?")[0]
        return path.endswith(("/chat/completions", "/responses", "/messages"))

    def send(self, index):
        call = self.calls[index]
        body = replaced(call["body"] if "body" in call else json.loads(call["request"]), self.strings)
        self.sent[index] = body
        try:
            status, reply = servers.request(self.daemon.port, "POST", self.prefix + call["path"], body,
                                            {"Authorization": f"Bearer {self.rollout['api_key']}"})
        except (OSError, http.client.HTTPException) as error:
            status, reply = 0, repr(error).encode()
        raw = reply.decode("utf-8", "replace")
        if status != 200:
            self.failures.append(f"call {index}: {status} {raw[:300]}")
        now = replies.strings_of(call["path"], raw)
        self.strings |= {old: now.get(name) for name, old in strings_given(call).items()}

    def run(self):
        """In the recorded order: a call begins when those that had ended before it have ended here."""
        threads = {}
        for what, index in self.order:
            if not self.is_turn(index):
                continue
            if what == "begin":
                threads[index] = threading.Thread(target=self.send, args=(index,))
                threads[index].start()
            else:
                threads[index].join()
        for thread in threads.values():
            thread.join()
        return self


def replay(daemon, recording):
    """{"rollout": id, "sent": paths and bodies in order, "calls": their prompt and sampled ids, "failures": texts}"""
    done = Replay(daemon, recording).run()
    calls = []
    if not done.failures:
        calls = daemon.calls(done.rollout)
        daemon.finish(done.rollout)
    sent = [{"path": done.calls[index]["path"], "body": done.sent[index]} for index in sorted(done.sent)]
    return {"rollout": done.rollout["rollout_id"], "sent": sent, "calls": calls,
            "failures": done.failures}
