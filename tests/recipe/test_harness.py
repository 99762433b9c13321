"""The quickstart's harness against a small chat server: as a function's file and as a plain command."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "configs" / "quickstart"
SECONDS_MAX = 120


class ChatServer:
    """Answers with the given (reply, finish reason) pairs in turn and keeps what it was asked."""

    def __init__(self, replies):
        self.requests, self.keys = [], []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply, finish = replies[len(server.requests)]
                server.requests.append(body)
                server.keys.append(self.headers["Authorization"])
                answer = json.dumps({
                    "id": "c", "object": "chat.completion", "created": 1, "model": "policy",
                    "choices": [{"index": 0, "finish_reason": finish,
                                 "message": {"role": "assistant", "content": reply}}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def run_command(tmp_path):
    servers = []

    def run(task, replies):
        server = ChatServer(replies)
        servers.append(server)
        (tmp_path / "task.json").write_text(json.dumps(task))
        environment = {"PATH": os.environ["PATH"], "CORISCO_TASK": str(tmp_path / "task.json"),
                       "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-of-this-attempt"}
        subprocess.run([sys.executable, str(RECIPE / "harness.py")], env=environment, check=True,
                       timeout=SECONDS_MAX)
        return server

    yield run
    for server in servers:
        server.close()


def roles(request):
    return [message["role"] for message in request["messages"]]


def test_two_turns_as_a_command(run_command):
    task = {"kind": "again_lowercase", "system": "Be brief.", "example": ["Say ice.", "ice melts."],
            "turns": ["Say it.", "Again, in lowercase."]}
    server = run_command(task, [("Cats sleep.", "stop"), ("cats sleep.", "stop")])
    assert server.keys == ["Bearer key-of-this-attempt"] * 2
    assert [roles(request) for request in server.requests] == [
        ["system", "user", "assistant", "user"], ["system", "user", "assistant", "user", "assistant", "user"]]
    # The reply goes back exactly as it came, so that its tokens can be continued.
    assert [m["content"] for m in server.requests[1]["messages"][1:]] == [
        *task["example"], "Say it.", "Cats sleep.", "Again, in lowercase."]


def test_a_cut_reply_ends_the_rollout(run_command):
    again = {"kind": "again_wrap", "system": "s", "example": ["a", "b"], "turns": ["one", "two"]}
    assert len(run_command(again, [("Cats sl", "length"), ("x", "stop")]).requests) == 1
