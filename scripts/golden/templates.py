"""Writes tests/text/golden/real_templates.json: what transformers makes of conversations with real models' templates.

Needs what text.py needs. The templates are not part of this project; the test takes them from where this does:

    python scripts/golden/templates.py "$(scripts/fetch_templates.sh)"
"""
import hashlib
import os
import pathlib
import sys
import time

from transformers.utils import chat_template_utils

from text import GOLDEN, FrozenDatetime, render, write
from text_cases import ANGLES, CLOCK, NOW, TIMEZONE, WEATHER, call

TEMPLATES = [
    "HuggingFaceTB-SmolLM3-3B", "GLM-4.6", "GLM-4.7-Flash", "Kimi-K2-Instruct", "Kimi-K2-Thinking", "MiniMax-M2",
    "Mistral-Small-3.2-24B-Instruct-2506", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "Qwen3-Coder",
    "Qwen3.5-4B", "deepseek-ai-DeepSeek-V3.1", "deepseek-ai-DeepSeek-V3.2", "deepseek-ai-DeepSeek-V4",
    "google-gemma-4-31B-it", "meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.3-70B-Instruct",
    "moonshotai-Kimi-K2", "openai-gpt-oss-120b",
]
OPENING = [{"role": "system", "content": "Be brief."},
           {"role": "user", "content": "Weather in Zürich? <b> & \"x\" 日本語"}]
CALLED = OPENING + [
    {"role": "assistant", "content": "", "reasoning_content": "I need the weather.",
     "tool_calls": [call("get_weather", {"city": "Zürich", "days": [1, 2], "place": {"lat": 47.25}})]},
    {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"c\": 21}"},
]
ANSWERED = CALLED + [{"role": "assistant", "content": "21 degrees.", "reasoning_content": "That is it."},
                     {"role": "user", "content": "Thanks 😀"}]
TIME = {"type": "function", "function": {**CLOCK["function"], "description": "The time."}}   # gpt-oss wants one
CONVERSATIONS = {
    "plain": {"messages": OPENING},
    "answered": {"messages": OPENING + [{"role": "assistant", "content": "21."}, {"role": "user", "content": "Sure?"}]},
    "tools": {"messages": OPENING, "tools": [WEATHER, TIME]},
    "called": {"messages": CALLED, "tools": [WEATHER]},
    "after calls": {"messages": ANSWERED, "tools": [WEATHER]},
    "thinking off": {"messages": OPENING, "kwargs": {"enable_thinking": False}},
}


def main():
    os.environ["TZ"] = TIMEZONE
    time.tzset()
    chat_template_utils.datetime = FrozenDatetime
    templates = []
    for name in TEMPLATES:
        source = pathlib.Path(sys.argv[1], name + ".jinja").read_text(encoding="utf-8")
        expected = {case: render({**conversation, "special_tokens": ANGLES}, source)
                    for case, conversation in CONVERSATIONS.items()
                    if "tools" in conversation or not name.endswith("tool_use")}
        # A template's own refusal is compared as one, whatever its words.
        expected = {case: value if "text" in value else {"error": True} for case, value in expected.items()}
        templates.append({"name": name, "sha256": hashlib.sha256(source.encode()).hexdigest(), "expected": expected})
    write(GOLDEN / "real_templates.json", {"now_unix_seconds": NOW, "timezone": TIMEZONE, "special_tokens": ANGLES,
                                           "conversations": CONVERSATIONS, "templates": templates})


if __name__ == "__main__":
    main()
