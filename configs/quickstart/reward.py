"""The reward of a rollout: 1 if every reply is a fair sentence about the topic and the constraint holds,
a quarter if only the constraint fails, else 0.

A fair sentence names the topic and hardly any other, ends by itself, is one whole short sentence of a few
different words, and does not recite the task; so no fixed reply fits more than a few tasks. The constraint
alone earns nothing.
"""
import re

from make_tasks import HELDOUT_TOPICS, TOPICS, stem

FAIR = 0.25                    # of a fair sentence that does not keep the constraint
WORDS_MIN, WORDS_MAX = 4, 20
OTHER_TOPICS_MAX = 2           # a list of topics would fit many tasks
REPEATS_MAX = 2                # of one word in a sentence
RECITED_WORDS_MAX = 4          # in a row, from the task's text
PLAIN = re.compile(r"[A-Za-z0-9 ,.;:!?'\"()\[\]{}*%&/\u2013\u2014\u2018\u2019\u201c\u201d-]+")


ENDINGS = r"(?:e?s|y|ies)?(?:'s|s')?"
STEMS = sorted({re.escape(stem(topic.replace("_", " "))) for topic in TOPICS + HELDOUT_TOPICS})
ANY_TOPIC = re.compile(rf"\b({'|'.join(STEMS)}){ENDINGS}\b", re.IGNORECASE)


def words_of(text):
    return re.findall(r"[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*", text)


def names(text, topic_stem):
    """The topic's stem with an ending of singular or plural, as a whole word."""
    return re.search(rf"\b{re.escape(topic_stem)}{ENDINGS}\b", text, re.IGNORECASE) is not None


def topics_in(text):
    return {match.lower() for match in ANY_TOPIC.findall(text)}


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
    if len(topics_in(text)) > 1 + OTHER_TOPICS_MAX:
        return "lists topics"
    if not re.search(r"[A-Za-z0-9'\")\]}*][.!?]$", text):
        return "does not end as a sentence"
    if re.search(r"[.!?;:][\s.!?]", text):
        return "more than one sentence"
    if max(words.count(word) for word in words) > REPEATS_MAX:
        return "repeats a word"
    if any(first == second for first, second in zip(words, words[1:])):
        return "says a word twice"
    if sum(len(word) == 1 and word not in "ai" for word in words) > 0:
        return "single letters"
    if any(recites(text, given) for given in [task["system"], *task["example"], *task["turns"]]):
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
        "wrap": lambda: True,          # unwrapped() has looked
        "label": lambda: True,
        "question": lambda: inside.endswith("?"),
    }
    return None if holds[rule]() else f"{rule} does not hold"


def problems(replies, task):
    """(what is unfair, what of the constraint fails)"""
    inside, frame_problem = unwrapped(replies[-1], task)
    for text in [*replies[:-1], inside]:
        problem = sentence_problem(text, task)
        if problem:
            return problem, None
    return None, frame_problem or constraint_problem(task["kind"].removeprefix("again_"), inside, task)


def reward(task, rollout):
    """A number from 0 to 1, and why it is not 1."""
    calls = sorted(rollout["calls"], key=lambda call: call["turn"])
    if len(calls) != len(task["turns"]):
        return 0.0, f"{len(calls)} replies instead of {len(task['turns'])}"
    if any(call["finish"] != "stop" for call in calls):
        return 0.0, "a reply was cut off"
    replies = [call["reply"].strip() for call in calls]
    unfair, broken = problems(replies, task)
    if unfair:
        return 0.0, unfair
    return (FAIR, broken) if broken else (1.0, "")
