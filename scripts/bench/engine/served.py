"""The served mix: 32 clients with one system prompt hold conversations of several turns with the daemon, each
streaming its replies over a connection of its own."""
import http.client
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "continuation"))
import servers   # noqa: E402

CLIENTS, TURNS, REPLY_TOKENS = 32, 3, 32
SYSTEM = "You are a careful engineer who answers in full sentences and gives a reason for each of them. " * 25
ASK = "Question {turn} of client {client}: name the largest prime below {number} and say how you would find it."


class Client:
    """One conversation, after the other clients' first requests have left too."""

    def __init__(self, port, number):
        self.port, self.number = port, number
        self.first_tokens, self.failed, self.tokens = [], [], 0

    def turn(self, connection, messages):
        """The reply's text, streamed."""
        body = {"model": "policy", "messages": messages, "max_tokens": REPLY_TOKENS, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}}
        begin, text = time.perf_counter(), ""
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise OSError(f"{reply.status} {reply.read()[:300]}")
        first = None
        for line in reply:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            for choice in event["choices"]:
                part = choice["delta"].get("content") or ""
                if part and first is None:
                    first = time.perf_counter() - begin
                text += part
            if event.get("usage"):
                self.tokens += event["usage"]["completion_tokens"]
        self.first_tokens.append(first if first is not None else time.perf_counter() - begin)
        return text

    def talk(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        messages = [{"role": "system", "content": SYSTEM}]
        try:
            for turn in range(TURNS):
                ask = ASK.format(turn=turn, client=self.number, number=1000 + 37 * self.number + turn)
                messages.append({"role": "user", "content": ask})
                messages.append({"role": "assistant", "content": self.turn(connection, messages)})
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else None


def run(options, dtype):
    folder = options.folder / f"served-{dtype}"
    settings = {"model.path": options.model, "model.dtype": dtype, "model.threads": options.threads,
                "sampling.obey_client": "true", "run.updates": 0, "engine.kv_memory_mb": 2048}
    with servers.Daemon(options.daemon, folder, settings) as daemon:
        clients = [Client(daemon.port, number) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.talk) for client in clients]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
    first = [value for client in clients for value in client.first_tokens]
    tokens = sum(client.tokens for client in clients)
    return {"seconds": seconds, "requests": len(first), "requests_per_second": len(first) / seconds, "tokens": tokens,
            "tokens_per_second": tokens / seconds, "first_token_p50_s": percentile(first, 0.5),
            "first_token_p99_s": percentile(first, 0.99), "failed": [text for client in clients for text in client.failed]}
