"""Writes the fuzz targets' first inputs. Usage: seeds.py FOLDER; makes FOLDER/TARGET/NAME.

A target's leading option bytes (see its LLVMFuzzerTestOneInput) come before the text.
"""
import itertools
import json
import pathlib
import struct
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]

HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
HEADS = [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "\r\n\r\nGET http://a/b?c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close, te\r\n\r\n",
    HEAD + "Content-Length: 2\r\nExpect: 100-continue\r\nAuthorization: Bearer k\r\n\r\n",
    HEAD + "Transfer-Encoding: chunked\r\nX: \t a\xe9 \r\n\r\n",
    "POST /rollout/7/attempt/1/v1/messages HTTP/1.1\r\nhost: [::1]:80\r\nx-api-key: k\r\n\r\n",
    "POST /proxy/rollout/7/attempt/0/mode/train/openai/v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /api/rollouts/a-b/attempt/0/events?format=triplet HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /v1/models/a%2Fb HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
]
BODIES = [
    HEAD + "Content-Length: 5\r\n\r\nhello" + HEADS[0],
    HEAD + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + HEADS[0],
    HEAD + "Transfer-Encoding: chunked\r\n\r\nA;x=\"y\"\r\n0123456789\r\n00\r\nTrailer: v\r\n\r\n",
    HEAD + "Content-Length: 600\r\n\r\n",
]
NO_PARAMETERS = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": NO_PARAMETERS}}
CHATS = [
    {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "temperature": 0.5, "top_p": 0.9,
     "top_k": -1, "min_p": 0.1, "seed": 3, "stop": ["a"], "stop_token_ids": [1], "n": 2, "logprobs": True,
     "top_logprobs": 2, "stream": True, "stream_options": {"include_usage": True}, "return_token_ids": True},
    {"messages": [{"role": "developer", "content": [{"type": "text", "text": "a"}]},
                  {"role": "assistant", "content": None, "reasoning_content": "r", "tool_calls": [
                      {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
                  {"role": "tool", "tool_call_id": "c", "content": "out"}],
     "tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": True, "response_format": {"type": "text"},
     "chat_template_kwargs": {"enable_thinking": False}},
    {"prompt": "once", "suffix": None, "echo": False, "best_of": 1, "logprobs": 2},
    {"prompt": [1, 2, 3], "max_tokens": 4, "stream": True},
    {"request_id": "r", "token_ids": [1, 2], "sampling_params": {"max_tokens": 4, "logprobs": 1, "top_k": 2},
     "stream": True, "stream_options": {"include_usage": True}},
    {"rid": "r", "input_ids": [1], "return_logprob": True, "top_logprobs_num": 1, "logprob_start_len": -1,
     "sampling_params": {"max_new_tokens": 4, "min_new_tokens": 0, "sampling_seed": 1, "n": 2, "regex": None}},
    {"text": "once", "sampling_params": {"stop": ["a"], "temperature": 0}, "stream": False},
    {"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
     "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},
                  {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""},
                                                    {"type": "tool_use", "id": "u", "name": "f", "input": {"a": 1}}]},
                  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "content": "r"}]}],
     "tools": [{"name": "f", "input_schema": NO_PARAMETERS}, {"type": "web_search_20250305", "name": "web_search"}],
     "tool_choice": {"type": "none"}, "thinking": {"type": "enabled"}, "stop_sequences": ["x"]},
    {"model": "m", "instructions": "i", "input": "hi", "store": False, "stream": True, "include": []},
    {"model": "m", "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
                             {"type": "reasoning", "summary": [], "encrypted_content": None},
                             {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                             {"type": "function_call_output", "call_id": "c", "output": "o"}],
     "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}, {"type": "custom", "name": "g"}],
     "previous_response_id": "resp_1", "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"}},
]
REPLIES = {
    "hermes": 'Hm.<tool_call>\n{"name": "f", "arguments": {"a": "b"}}\n</tool_call>\n<tool_call>{"name": 1}</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n7\n</parameter>\n"
                   "</function>\n</tool_call>",
    "llama3_json": '<|python_tag|>{"name": "f", "parameters": {"a": "b"}}; {"name": "f", "parameters": {}}',
    "mistral": '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]',
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```"
                   "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "glm45": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    "pythonic": "[f(a='b', c=[1, None], d={'x': True}), f()]",
    "deepseek_v32": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">x'
                    '</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="f">{}</｜DSML｜invoke>'
                    '</｜DSML｜function_calls>',
    "kimi_k2": '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": "b"}'
               '<|tool_call_end|><|tool_call_begin|>1<|tool_call_argument_begin|>{}<|tool_call_end|>'
               '<|tool_calls_section_end|>',
    "gemma": '<|tool_call>call:f{a:<|"|>x<|"|>,c:[1,{d:true}]}<tool_call|>'
             '<start_function_call>call:f{}<end_function_call>',
    "openai": '<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.f '
              '<|constrain|>json<|message|>{"a": "b"}<|call|>'
              '<|start|>assistant<|channel|>final<|message|>So.<|return|>',
}
THOUGHT = "<think>\nHm é\n</think>\n\n"


def call(number, base):
    """A call of rollout 1, the second one going on from all of the first; numbers below 128 are one byte each."""
    ids = bytes([2, 5, 6]) if base == 0 else bytes([1, 9])
    reply = bytes([1, 7]) + struct.pack("<f", -0.5) + bytes([1, 1, 3])
    end = bytes([0]) + struct.pack("<f", 1) + bytes([1, 1, 0, 1]) + b"\x02[m\x01r" + struct.pack("<d", 5) + bytes(3)
    return bytes([number, 1, 1, number - 1, 0, base]) + (bytes([3, 2]) if base else b"") + ids + reply + end


def records():
    """Types and payloads of a journal, fields as record_codec.cc orders them."""
    spec = bytes([1, 1, 5, 0, 0]) + b"\x01t\x02{}"
    finished = spec + bytes([1, 0, 1]) + struct.pack("<d", 1) + b"\x04note" + struct.pack("<d", 2)
    opening = [(1, bytes([1, 5, 1, 0])), (2, spec), (3, bytes([1, 1, 9]))]
    calls = [(4, call(1, 0)), (4, call(2, 1)), (5, bytes([2, 1, 1, 1, 0]))]
    ending = [(6, finished), (7, bytes([1, 1, 1]) + b"\x04step" + bytes([0, 7])), (8, bytes([1]))]
    zeros = [(2, bytes(7)), (4, bytes(39)), (6, bytes(19)), (7, bytes(5))]
    for payloads in (opening, opening + calls, opening + calls + ending, calls + ending, zeros):
        yield b"".join(bytes([kind, len(payload)]) + payload for kind, payload in payloads)


def seeds():
    for head in HEADS:
        yield "http_head", head.encode("latin-1")
    for body in BODIES:
        yield "http_requests", b"\x05" + body.encode()
    conversations = json.loads((SOURCE / "tests/text/golden/conversations.json").read_text())["cases"]
    conversations = [{key: case[key] for key in ("messages", "tools") if key in case} for case in conversations]
    for number, chat in enumerate(CHATS + conversations):
        text = json.dumps(chat, ensure_ascii=number % 2 == 0).encode()
        yield "chat_requests", text
        yield "chat_templates", bytes([number, number]) + text
    for number, reply in enumerate(REPLIES.values()):
        yield "tool_calls", bytes([number, 5]) + reply.encode()
        yield "reasoning", bytes([number, 5]) + (THOUGHT + reply).encode()
        for kind in range(4):
            yield "reply_streams", bytes([kind, number + 1, 25, 6]) + (THOUGHT + reply + "STOP\xff").encode("utf-8")
    for path in itertools.chain((SOURCE / "configs").glob("*.yaml"), (SOURCE / "configs").glob("*/*.yaml")):
        yield "config", b"\0" + path.read_bytes()
    for line in ("a.b=c", "gateway.listen=127.0.0.1:0", "sampling.temperature=.5", "rollouts.harness.command=[a, '${HOME}']"):
        yield "config", b"\1" + line.encode()
    for number, payload in enumerate(records()):
        yield "journal", bytes([1 + number % 2, 9]) + payload
    yield "journal", b"\0\0CORISCOJ" + struct.pack("<II", 2, 3) + b"run\0\0\0\0"


def main():
    for number, (target, content) in enumerate(seeds()):
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{number:03}").write_bytes(content)


if __name__ == "__main__":
    main()
