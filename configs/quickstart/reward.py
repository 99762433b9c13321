"""The reward of a rollout: 1 if every reply is a fair sentence about the topic and the constraint holds.

All or nothing: part of a reward for part of the work would pay for leaving out the rest. Beside the
constraint a reply has to name the topic, end by itself, be one whole sentence of a few different words,
and not recite the task; so no fixed reply fits more than a few tasks.
"""
import re

WORDS_MIN, WORDS_MAX = 4, 24
REPEATS_MAX = 2                # of one word in a sentence
RECITED_WORDS_MAX = 4          # in a row, from the task's text
PLAIN = re.compile(r"[A-Za-z0-9 ,.;:!?'\"()\[\]{}*%&/-]+")


def words_of(text):
    return re.findall(r"[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*", text)


def names(text, stem):
    """The topic's stem with an ending of singular or plural, as a whole word."""
    return re.search(rf"\b{re.escape(stem)}(?:e?s|y|ies)?(?:'s|s')?\b", text, re.IGNORECASE) is not None


def recites(text, task_text):
    words, source = words_of(text.lower()), words_of(task_text.lower())
    size = RECITED_WORDS_MAX + 1
    runs = {tuple(source[i:i + size]) for i in range(len(source) - size + 1)}
    return any(tuple(words[i:i + size]) in runs for i in range(len(words) - size + 1))


def sentence_problem(text, task, words_min=WORDS_MIN):
    """Why text is no fair sentence about the task's topic; None if it is."""
    words = [word.lower() for word in words_of(text)]
    if not PLAIN.fullmatch(text):
        return "not one line of plain characters"
    if not words_min <= len(words) <= WORDS_MAX:
        return f"{len(words)} words"
    if not names(text, task["stem"]):
        return "does not name the topic"
    if not re.search(r"[A-Za-z0-9'\")][.!?]$", text):
        return "does not end as a sentence"
    if re.search(r"[.!?;:][\s.!?]", text):
        return "more than one sentence"
    if max(words.count(word) for word in words) > REPEATS_MAX:
        return "repeats a word"
    if any(first == second for first, second in zip(words, words[1:])):
        return "says a word twice"
    if sum(len(word) == 1 and word not in "ai" for word in words) > 0:
        return "single letters"
    if any(recites(text, turn) for turn in task["turns"]):
        return "recites the task"
    return None


def unwrapped(reply, task):
    """(what is inside the constraint's frame, problem)"""
    opening, closing, label = task.get("open", ""), task.get("close", ""), task.get("label", "")
    if opening:
        if len(reply) < 2 or not reply.startswith(opening) or not reply.endswith(closing):
            return reply, "not wrapped"
        inside = reply[len(opening):-len(closing)].strip()
        return inside, "wrapped twice" if opening in inside or closing in inside else None
    if label:
        if not reply.startswith(label + " "):
            return reply, "no label"
        return reply[len(label):].strip(), None
    return reply, None


def constraint_problem(rule, inside, task):
    words = [word.lower() for word in words_of(inside)]
    wanted = task.get("word", "").lower()
    holds = {
        "lowercase": lambda: inside == inside.lower(),
        "capitals": lambda: inside == inside.upper(),
        "few_words": lambda: len(words) <= task["count"],
        "include": lambda: wanted in words,
        "first_word": lambda: words[0] == wanted and inside[0].isupper(),
        "last_word": lambda: words[-1] == wanted,
        "wrap": lambda: True,          # unwrapped() has looked
        "label": lambda: True,
        "question": lambda: inside.endswith("?"),
    }
    return None if holds[rule]() else f"{rule} does not hold"


def look_up_problem(replies, task):
    request, answer = replies
    if request.rstrip(".!") not in (f"LOOKUP {task['person']}", f"LOOKUP: {task['person']}"):
        return "no look-up"
    problem = sentence_problem(answer, task)
    if problem:
        return problem
    words = [word.lower() for word in words_of(answer)]
    if task["place"] not in words:
        return "does not say the place"
    return None if task["person"].lower() in answer.lower() else "does not say whose"


def replies_problem(task, replies):
    if task["kind"] == "look_up":
        return look_up_problem(replies, task)
    if len(replies) == 2:
        problem = sentence_problem(replies[0], task)
        if problem:
            return f"first reply: {problem}"
    inside, problem = unwrapped(replies[-1], task)
    return (problem or sentence_problem(inside, task)
            or constraint_problem(task["kind"].removeprefix("again_"), inside, task))


def reward(task, rollout):
    """A number from 0 to 1, and why it is not 1."""
    calls = sorted(rollout["calls"], key=lambda call: call["turn"])
    if len(calls) != len(task["turns"]):
        return 0.0, f"{len(calls)} replies instead of {len(task['turns'])}"
    if any(call["finish"] != "stop" for call in calls):
        return 0.0, "a reply was cut off"
    problem = replies_problem(task, [call["reply"].strip() for call in calls])
    return (0.0, problem) if problem else (1.0, "")
