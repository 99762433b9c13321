"""Writes replies as agents' models make them, in each family's form, cut into pieces of a token each.

    python replies.py FILE

A reply is a sentence or two and two tool calls: a shell command, and a file of some 2 kB. A piece is a special
token, or a few characters, as a byte-level tokenizer makes of code.
"""
import json
import re
import sys

THOUGHT = "The test fails since the parser keeps the blank. I should look at it, then write the file anew. "
TEXT = "Let me run the tests first, and then rewrite `src/parser.py` with the fix.\n"
CODE = "".join(f'def step_{i}(text: str, at: int = {i}) -> "list[str]":\n    """Step {i}: é, <b> and {{braces}}."""\n'
               f"    return [part for part in text.split('\\n') if at < len(part) and part != \"\"]\n\n"
               for i in range(12))
COMMAND = "cd /repo && python -m pytest -x -q tests/test_parser.py 2>&1 | tail -40"
CALLS = [("bash", {"command": COMMAND, "timeout": 120}),
         ("write_file", {"path": "src/parser.py", "content": CODE})]
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Runs a command.", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "write_file", "description": "Writes a file.", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}}]
REPEATS = 4                              # replies of each family, which differ in their commands


def as_json(value):
    return json.dumps(value, ensure_ascii=False)


def hermes(calls):
    return TEXT + "\n".join(f'<tool_call>\n{{"name": "{name}", "arguments": {as_json(arguments)}}}\n</tool_call>'
                            for name, arguments in calls)


def qwen3_coder(calls):
    blocks = []
    for name, arguments in calls:
        body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
        blocks.append(f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>")
    return TEXT + "\n".join(blocks)


def llama3_json(calls):
    return "; ".join(f'{{"name": "{name}", "parameters": {as_json(arguments)}}}' for name, arguments in calls)


def mistral(calls):
    return TEXT + "[TOOL_CALLS] " + as_json([{"name": name, "arguments": arguments} for name, arguments in calls])


def deepseek_v3(calls):
    blocks = "\n".join(f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{as_json(arguments)}\n```"
                       "<｜tool▁call▁end｜>" for name, arguments in calls)
    return f"{TEXT}<｜tool▁calls▁begin｜>{blocks}<｜tool▁calls▁end｜>"


def deepseek_v32(calls):
    blocks = ""
    for name, arguments in calls:
        body = "".join(f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{value}'
                       "</｜DSML｜parameter>\n" for key, value in arguments.items())
        blocks += f'<｜DSML｜invoke name="{name}">\n{body}</｜DSML｜invoke>\n'
    return f"{TEXT}\n<｜DSML｜function_calls>\n{blocks}</｜DSML｜function_calls>"


def glm45(calls):
    blocks = []
    for name, arguments in calls:
        body = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
                       for key, value in arguments.items())
        blocks.append(f"<tool_call>{name}\n{body}</tool_call>")
    return TEXT + "\n".join(blocks)


def pythonic(calls):
    return "[" + ", ".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
                           for name, arguments in calls) + "]"


def kimi_k2(calls):
    blocks = "".join(f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{as_json(arguments)}"
                     "<|tool_call_end|>" for index, (name, arguments) in enumerate(calls))
    return f"{TEXT}<|tool_calls_section_begin|>{blocks}<|tool_calls_section_end|>"


def gemma(calls):
    blocks = ""
    for name, arguments in calls:
        body = ",".join(f'{key}:<|"|>{value}<|"|>' if isinstance(value, str) else f"{key}:{value}"
                        for key, value in arguments.items())
        blocks += f"<|tool_call>call:{name}{{{body}}}<tool_call|>"
    return TEXT + blocks


def openai(calls):
    start = "<|start|>assistant"
    text = f"<|channel|>analysis<|message|>{THOUGHT}<|end|>{start}<|channel|>commentary<|message|>{TEXT}<|end|>"
    return text + "".join(f"{start}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
                          f"{as_json(arguments)}<|call|>" for name, arguments in calls)


FAMILIES = [hermes, qwen3_coder, llama3_json, mistral, deepseek_v3, deepseek_v32, glm45, pythonic, kimi_k2, gemma,
            openai]
SPECIAL = r"<\|[^<>]{1,40}\|>|<\|\"\|>|<｜[^<>]{1,30}｜>|</?tool_call>|\[TOOL_CALLS\]"
PIECE = re.compile(SPECIAL + r"| ?\w{1,6}|\s+|[^\w\s]{1,2}", re.S)


def main():
    families = {}
    for family in FAMILIES:
        replies = []
        for number in range(REPEATS):
            command = {**CALLS[0][1], "command": f"{COMMAND} # {number}"}
            pieces = PIECE.findall(family([(CALLS[0][0], command), CALLS[1]]))
            replies.append(pieces)
        families[family.__name__] = replies
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"tools": TOOLS, "families": families}, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
