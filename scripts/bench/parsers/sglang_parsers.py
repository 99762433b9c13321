"""SGLang's parsers over the replies of replies.py, as bench_parsers runs ours. Prints a JSON line per family.

    python sglang_parsers.py SOURCES REPLIES [SECONDS]     SOURCES: SGLang's wheel, unpacked

Its parsers are Python without torch, but for one module of request types that imports the whole server: what they
use of it stands here. As its server does, a reply is fed piece by piece to parse_streaming_increment, or whole to
detect_and_parse.
"""
import importlib
import json
import logging
import pathlib
import sys
import time
import types
from typing import Any, Optional

from pydantic import BaseModel

FAMILIES = {"hermes": ("hermes_detector", "HermesDetector"),
            "qwen3_coder": ("qwen3_coder_detector", "Qwen3CoderDetector"),
            "llama3_json": ("llama32_detector", "Llama32Detector"), "mistral": ("mistral_detector", "MistralDetector"),
            "deepseek_v3": ("deepseekv3_detector", "DeepSeekV3Detector"),
            "deepseek_v32": ("deepseekv32_detector", "DeepSeekV32Detector"),
            "glm45": ("glm4_moe_detector", "Glm4MoeDetector"), "pythonic": ("pythonic_detector", "PythonicDetector"),
            "kimi_k2": ("kimik2_detector", "KimiK2Detector"), "gemma": ("gemma4_detector", "Gemma4Detector"),
            "openai": ("gpt_oss_detector", "GptOssDetector")}


class Function(BaseModel):
    name: Optional[str] = None
    description: Optional[str] = None
    parameters: Any = None
    strict: bool = False


class Tool(BaseModel):
    type: str = "function"
    function: Function


class ToolChoice(BaseModel):
    type: str = "function"
    function: Any = None


def package(name, path=None):
    module = types.ModuleType(name)
    module.__path__ = [str(path)] if path else []
    sys.modules[name] = module
    return module


def prepare(sources):
    root = pathlib.Path(sources) / "sglang"
    for name in ("sglang", "sglang.srt", "sglang.srt.function_call", "sglang.srt.parser", "sglang.srt.entrypoints",
                 "sglang.srt.entrypoints.openai"):
        package(name, root.joinpath(*name.split(".")[1:]))
    protocol = types.ModuleType("sglang.srt.entrypoints.openai.protocol")
    protocol.Tool, protocol.ToolChoice, protocol.Function = Tool, ToolChoice, Function
    sys.modules[protocol.__name__] = protocol
    setting = types.SimpleNamespace(get=lambda: True)
    environment = types.ModuleType("sglang.srt.environ")
    environment.envs = types.SimpleNamespace(SGLANG_FORWARD_UNKNOWN_TOOLS=setting)
    sys.modules[environment.__name__] = environment


def measure(read, replies, seconds_min):
    """read(reply) gives the number of whole calls. Passes over all replies, for that long at least."""
    begin, passes, calls = time.perf_counter(), 0, 0
    while time.perf_counter() - begin < seconds_min or passes == 0:
        calls += sum(read(reply) for reply in replies)
        passes += 1
    return passes, calls, time.perf_counter() - begin


def main():
    prepare(sys.argv[1])
    logging.disable(logging.CRITICAL)
    with open(sys.argv[2], encoding="utf-8") as file:
        content = json.load(file)
    seconds_min = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
    tools = [Tool(**tool) for tool in content["tools"]]
    for family, replies in content["families"].items():
        module, name = FAMILIES[family]
        detector = getattr(importlib.import_module("sglang.srt.function_call." + module), name)

        def streamed(pieces):
            parser = detector()
            results = [parser.parse_streaming_increment(piece, tools) for piece in pieces]
            return len({call.tool_index for result in results for call in result.calls if call.name})

        def whole(pieces):
            return len(detector().detect_and_parse("".join(pieces), tools).calls)

        num_bytes = sum(len(piece.encode()) for pieces in replies for piece in pieces)
        num_pieces = sum(map(len, replies))
        try:
            passes, calls, seconds = measure(streamed, replies, seconds_min)
            whole_passes, whole_calls, whole_seconds = measure(whole, replies, seconds_min)
        except Exception as error:       # one family's failure is not the others'
            print(json.dumps({"family": family, "failure": f"{type(error).__name__}: {error}"}), flush=True)
            continue
        print(json.dumps({"family": family, "calls_per_reply": calls / passes / len(replies),
                          "whole_calls_per_reply": whole_calls / whole_passes / len(replies),
                          "streamed_megabytes_per_second": num_bytes * passes / seconds / 1e6,
                          "microseconds_per_token": seconds * 1e6 / (num_pieces * passes),
                          "whole_megabytes_per_second": num_bytes * whole_passes / whole_seconds / 1e6}), flush=True)


if __name__ == "__main__":
    main()
