"""What the model says in the recorded conversations, whatever the agent and the form: tasks, each a list of
turns with reasoning, text and shell commands whose arguments are awkward to send back unchanged.

A turn's command prints its marker and does not hold it: the script knows by it which turn is next.
"""
import dataclasses

# Agents' tools for shell commands: name, and the arguments beside the command.
TOOLS = {
    "mini-swe-agent": ("bash", "command", {}),
    "openhands": ("terminal", "command", {"security_risk": "LOW", "timeout": 60.0}),
    "opencode": ("bash", "command", {"timeout": 60000.0, "description": "Übt die Shell"}),
    "claude-code": ("Bash", "command", {"timeout": 60000.0, "description": "Übt die Shell"}),
    "codex": ("exec_command", "cmd", {"yield_time_ms": 9000}),
    "qwen-code": ("run_shell_command", "command", {"is_background": False, "description": "Übt die Shell"}),
    "openai-chat": ("bash", "command", {}),
    "openai-responses": ("bash", "command", {}),
    "anthropic": ("bash", "command", {}),
    "own-loop": ("bash", "command", {}),
}
TEXT_AGENTS = ("mini-text",)                     # commands in blocks of code, no tools
AGENTS = [*TOOLS, *TEXT_AGENTS]

COMMANDS = [
    "printf 'naïve café — 日本語 😀\\n' > 'ünï cödé.txt'; cat 'ünï cödé.txt'",
    "cat <<'EOF' > data.json\n{\"a\": {\"b\": [1.0, 2.50, \"x\\ty\"], \"c\": null}, \"q\": \"say \\\"hi\\\"\"}\nEOF\n"
    "cat data.json",
    "echo \"it's \\\"quoted\\\" & <b>tagged</b> \\\\ back/slash\"",
    "printf 'a\\tb\\n\\n\\nc  \\n'",
    "for i in 1 2 3; do\n\techo \"line $i\"\ndone",
    "awk 'BEGIN { printf \"%.3f\\n\", 60000.0 / 7 }'",
    "echo '{\"nested\": {\"k\": [1, 2.0, {\"z\": 1e3}]}}' | tr a-z A-Z",
    "printf '%s\\n' one 'two  three' $'four\\u00e9'",
    "ls | sort",
    "echo   'blanks   in   a   row'  ",
]
TEXTS = ["I will write a file.", "  \n Leading and trailing blanks — héllo 😀 \n\n", "", "Now:\n\n- a list\n- of two\n",
         "Next\n", "\tTabbed. ", "", "On with it: `x = 1.0`", "Last but one.\n\n\n", "  "]
THOUGHTS = ["The task asks for a file.", "Let me think.\n\nTwo paragraphs — wíth accents.", "  indented thought\n",
            "Check <b>tags</b> & \"quotes\".", "1. first\n2. second", "Short."]


@dataclasses.dataclass
class Turn:
    text: str
    commands: list                               # none: the turn is text alone
    thought: str | None = None                   # "": an empty wrapper is written
    style: int = 0                               # how the form's JSON is spaced and ordered
    after: list = dataclasses.field(default_factory=list)   # texts of the prompt that it answers
    is_in_pieces: bool = False                   # its tokens are not those that its text encodes to


@dataclasses.dataclass
class Task:
    agent: str
    name: str
    turns: list

    @property
    def id(self):
        return f"{self.agent}-{self.name}"

    @property
    def prompts(self):
        """What the user says; more than one only to an own loop."""
        more = f"Well done. Now the second half of exercise {self.id}."
        first = f"Do exercise {self.id} with shell commands, one at a time."
        return [first, more] if self.agent == "own-loop" else [first]


def marker(task, index):
    return f"{task}-turn-{index}-done"


def with_marker(command, task, index):
    return f"printf '%s-done\\n' '{task}-turn-{index}' && {command}"


def thought_of(kind, index):
    if kind == "none" or (kind == "mixed" and index % 3 == 2):
        return None
    thought = THOUGHTS[index % len(THOUGHTS)]
    return {"empty": "", "full": thought.strip()}.get(kind, thought)


def tool_turns(task, count, shift, kind):
    turns = []
    for index in range(count):
        command = with_marker(COMMANDS[(index + shift) % len(COMMANDS)], task, index)
        is_double = kind != "mixed" and index == 3 and not task.startswith("mini-text")
        after = [marker(task, index - 1)] if index else [f"exercise {task} "]
        is_tidy = kind == "full"
        text = "" if is_tidy else TEXTS[(index + shift) % len(TEXTS)]
        style = 0 if is_tidy else (index + shift) % 3
        commands = [command, "echo twice"] if is_double else [command]
        turns.append(Turn(text, commands, thought_of(kind, index), style, after, kind == "mixed" and index % 4 == 1))
    return turns


def last_turn(agent, task, count, kind):
    after = [marker(task, count - 1)]
    if agent in ("mini-swe-agent", "mini-text"):
        return Turn("Finished.", ["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"], thought_of(kind, count), 0, after)
    return Turn("  All done — every file is there. \n", [], thought_of(kind, count), 0, after)


def middle_turn(agent, task, index):
    """A turn of text alone: an own loop answers it with a second prompt, mini-swe-agent drops it and complains."""
    return Turn("Half of it is done.\n", [], "Half.", 0, [marker(task, index - 1)])


def task_of(agent, name, count, shift, kind):
    task = f"{agent}-{name}"
    turns = tool_turns(task, count, shift, kind)
    if agent == "own-loop" or (name == "gamma" and agent.startswith("mini")):
        said = {"own-loop": "second half of exercise", "mini-text": "Format error:"}.get(agent, "Tool call error:")
        middle = count // 2
        turns[middle].after = [marker(task, middle - 1), said]
        turns.insert(middle, middle_turn(agent, task, middle))
    return Task(agent, name, [*turns, last_turn(agent, task, count, kind)])


def tasks():
    """alpha reasons in every turn and writes as templates print; beta has empty reasoning, awkward texts and JSON;
    gamma is longer and mixed. The clients' own limit is eight calls."""
    found = []
    for agent in AGENTS:
        found += [task_of(agent, "alpha", 6, 0, "full"), task_of(agent, "beta", 6, 1, "empty")]
        if agent not in ("openai-chat", "openai-responses", "anthropic"):
            found.append(task_of(agent, "gamma", 10, 2, "mixed"))
    return found
