"""How models of a family write a turn, and the daemon's script of all tasks in one form.

usage: forms.py FORM FILE      writes the script of a form
"""
import json
import re
import sys

import turns

OTHER_CALLS = [{"if": ["You are a title generator"], "reply": "A shell exercise"}]


def json_of(value, style):
    """0: as Python prints it; 1: odd blanks; 2: compact, escapes where none are needed."""
    if style == 2:
        return json.dumps(value, separators=(",", ":")).replace("/", "\\/")
    text = json.dumps(value, ensure_ascii=False)
    return text if style == 0 else f"{{ {text[1:-1]} }}"


def thought(turn):
    if turn.thought is None:
        return ""
    return f"<think>\n{turn.thought}\n</think>\n\n"


def arguments_of(agent, command):
    _, key, more = turns.TOOLS[agent]
    return {key: command} | more


def hermes_call(name, arguments, style):
    body = json_of(arguments, style)
    call = f'"arguments": {body} ,  "name": "{name}"' if style == 1 else f'"name": "{name}", "arguments": {body}'
    return f"<tool_call>\n{{{call}}}\n</tool_call>"


def value_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def qwen3_coder_call(name, arguments, style):
    blank = "\n" if style == 1 else ""
    parameters = "".join(f"<parameter={key}>\n{value_text(value)}\n</parameter>\n{blank}"
                         for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def llama3_call(name, arguments, style):
    return f'{{"name": "{name}", "parameters": {json_of(arguments, style)}}}'


CALLS = {"qwen3": hermes_call, "smollm2": hermes_call, "hermes": hermes_call, "qwen3_coder": qwen3_coder_call,
         "llama3_json": llama3_call}
# Where a template does not tell how calls are written.
SETTINGS = {"smollm2": {"gateway.tool_parser": "hermes"}, "llama3_json": {"gateway.tool_parser": "llama3_json"}}
WITHOUT_THOUGHTS = ("smollm2", "llama3_json")
FORMS = list(CALLS)


def reply_of(form, agent, turn):
    lead = "" if form in WITHOUT_THOUGHTS else thought(turn)
    if agent in turns.TEXT_AGENTS:
        blocks = "".join(f"\n\n```mswea_bash_command\n{command}\n```" for command in turn.commands)
        return f"{lead}THOUGHT: {turn.text}{blocks}"
    name = turns.TOOLS[agent][0]
    calls = [CALLS[form](name, arguments_of(agent, command), turn.style) for command in turn.commands]
    if form == "llama3_json":                    # it writes calls or text
        return "; ".join(calls) if calls else turn.text
    between = "\n" if turn.text and calls and not turn.text.endswith("\n") else ""
    return lead + turn.text + between + "\n".join(calls)


def pieces(text, size=7):
    """Cut where no tokenizer would: each piece is encoded by itself. Tags stay whole, as tokens that they are."""
    found = []
    for number, part in enumerate(re.split(r"(</?(?:think|tool_call)>)", text)):
        found += [part] if number % 2 else [part[start:start + size] for start in range(0, len(part), size)]
    return found


def script(form, tasks=None):
    """The rules of all tasks, later turns first, since a prompt holds the markers of all turns before."""
    rules = list(OTHER_CALLS)
    for task in tasks or turns.tasks():
        for turn in reversed(task.turns):
            reply = reply_of(form, task.agent, turn)
            rules.append({"if": turn.after, "reply": pieces(reply) if turn.is_in_pieces else reply})
    return rules


def write(form, path):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(rule, ensure_ascii=False) + "\n" for rule in script(form))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in FORMS:
        raise SystemExit(__doc__)
    write(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
