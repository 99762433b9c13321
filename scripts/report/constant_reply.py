"""The best score that one fixed reply can have on the held-out tasks, as a check on the reward.

usage: constant_reply.py [RECIPE_FOLDER]

Tries replies that name one or many of the topics, in each case and frame, with the words that tasks
dictate. A task with two turns gets the same reply twice. Prints the best ones and their mean reward.
"""
import importlib
import itertools
import json
import os
import sys

BODIES = [
    "{topics} are here {include}.", "do {topics} help people {include}?", "{first} {topics} are good {include}.",
    "{first} {topics} bring {words} {include}.", "{topics} bring {words}.",
]
FRAMES = ["{}", "[{}]", "({})", "\"{}\""]


def some(values, number):
    """About number of them, evenly spread."""
    return values[::max(1, len(values) // number)]


def topic_sets(topics):
    """One, two or three, which the reward allows, and whole lists, which it should not."""
    sets = topics + [" and ".join(topics[i:i + 2]) for i in range(0, len(topics), 2)]
    sets += [", ".join(topics[i:i + 3]) for i in range(0, len(topics), 3)]
    for size, joint in itertools.product((5, 10, 15), (" ", ", ")):
        sets += [joint.join(topics[i:i + size]) for i in range(0, len(topics), size)]
    return sets


def candidates(tasks):
    def of(field, kind=""):
        return sorted({task[field] for task in tasks if field in task and task["kind"].endswith(kind)})

    firsts, includes = of("word", "first_word") + [""], of("word", "include") + [""]
    words = ", ".join(of("word", "include"))
    frames = FRAMES + [label + " {}" for label in of("label")]
    for body, topics in itertools.product(BODIES, topic_sets(of("topic"))):
        for first, include in itertools.product(some(firsts, 3) if "{first}" in body else [""],
                                             some(includes, 3) if "{include}" in body else [""]):
            text = body.format(topics=topics, first=first, include=include, words=words)
            text = " ".join(text.split()).replace(" .", ".").replace(" ?", "?")
            for cased in (text[0].upper() + text[1:], text, text.upper()):
                yield from (frame.format(cased) for frame in frames)


def calls_of(task, reply):
    return [{"turn": turn, "choice": 0, "messages": [], "reply": reply, "finish": "stop", "num_tokens": 0}
            for turn in range(len(task["turns"]))]


def score(grader, tasks, reply):
    return sum(grader.reward(task, {"calls": calls_of(task, reply)})[0] for task in tasks) / len(tasks)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    recipe = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../configs/quickstart")
    sys.path.insert(0, recipe)
    grader = importlib.import_module("reward")
    with open(os.path.join(recipe, "heldout.jsonl"), encoding="utf-8") as file:
        tasks = [json.loads(line) for line in file]
    # A sample of the tasks decides which replies are worth a full look.
    replies = sorted(set(candidates(tasks)))
    sample = tasks[::4]
    good = sorted(replies, key=lambda reply: -score(grader, sample, reply))[:200]
    ranked = sorted(((score(grader, tasks, reply), reply) for reply in good), reverse=True)
    print(f"{len(replies)} fixed replies tried on {len(tasks)} held-out tasks")
    for value, reply in ranked[:5]:
        print(f"{value:.3f}  {reply}")


if __name__ == "__main__":
    main()
