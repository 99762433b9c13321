"""Writes tasks.jsonl and heldout.jsonl, the same bytes at every run.

A task asks for one short sentence about a topic under one constraint, after an example of such an
exchange; the kinds that begin with `again` ask for a plain sentence first and set the constraint in a
second turn. Held-out tasks have topics, words and one wording of each kind that training never sees.
"""
import json
import os
import random

SYSTEM = "Reply with one short sentence that names the topic."

# Of each list the first entry is kept for held-out.
ASKS = [
    "Please write a short sentence about {topic}.",
    "Write one short sentence about {topic}.",
    "Tell me one thing about {topic} in a short sentence.",
    "Give me a short sentence about {topic}.",
]
WORDINGS = {
    "lowercase": [
        "No capitals anywhere, please.",
        "Use only lowercase letters.",
        "Write everything in lowercase.",
        "Do not use any capital letters.",
        "Keep all letters small.",
    ],
    "capitals": [
        "All letters must be upper case.",
        "Use only capital letters.",
        "Write everything in capitals.",
        "WRITE IT ALL IN CAPITAL LETTERS.",
        "Every letter must be a capital.",
    ],
    "few_words": [
        "Your limit is {count} words.",
        "Use at most {count} words.",
        "Write no more than {count} words.",
        "It must have {count} words or fewer.",
        "Stay within {count} words.",
    ],
    "include": [
        "The word \"{word}\" must be in it.",
        "Use the word \"{word}\".",
        "Include the word \"{word}\".",
        "It has to contain the word \"{word}\".",
        "Mention the word \"{word}\" somewhere.",
    ],
    "first_word": [
        "Make \"{word}\" its first word.",
        "Begin with the word \"{word}\".",
        "Start with \"{word}\".",
        "The first word must be \"{word}\".",
        "Open with the word \"{word}\".",
    ],
    "wrap": [
        "{name} should surround it.",
        "Put it in {name}.",
        "Wrap the whole sentence in {name}.",
        "Write it inside {name}.",
        "Enclose all of it in {name}.",
    ],
    "label": [
        "The label \"{label}\" goes before it.",
        "Begin with the label \"{label}\".",
        "Put \"{label}\" in front of it.",
        "Start the line with \"{label}\".",
        "Write \"{label}\" first, then the sentence.",
    ],
    "question": [
        "Phrase it as a question.",
        "Make it a question.",
        "It must be a question.",
        "Ask it as a question.",
        "Turn it into a question.",
    ],
}
# Of each kind: values of its own, and a right reply to a task about ice.
EXAMPLES = {
    "lowercase": ({}, "ice melts fast in a hot pan."),
    "capitals": ({}, "ICE MELTS FAST IN A HOT PAN."),
    "few_words": ({"count": 6}, "Ice melts in a pan."),
    "include": ({"word": "spoon"}, "Ice cools a hot spoon."),
    "first_word": ({"word": "Sadly"}, "Sadly, ice melts in a hot pan."),
    "wrap": ({}, "{open}Ice melts fast in a hot pan.{close}"),
    "label": ({"label": "Hint:"}, "Hint: Ice melts fast in a hot pan."),
    "question": ({}, "Does ice melt in a hot pan?"),
}
AGAINS = [
    "Write that once more.",
    "Now write it again.",
    "Again, please.",
    "Now the same sentence again.",
]
AGAIN_KINDS = ["lowercase", "wrap"]

TOPICS = """cats dogs bread rivers mountains bicycles trains coffee tea music books clouds rain snow the_sun
the_moon bees horses cows farms gardens roses trees forests bridges boats ships the_ocean whales sharks
birds eagles owls chickens eggs cheese milk apples oranges lemons carrots potatoes tomatoes soup salad rice
pasta pizza sugar salt honey schools teachers doctors nurses hospitals farmers painters dancers singers
guitars pianos drums movies cameras phones computers robots cars buses airplanes rockets planets volcanoes
earthquakes deserts islands beaches lakes caves castles museums libraries markets kitchens windows doors
chairs tables lamps candles clocks shoes hats gloves coats umbrellas football tennis swimming running chess
puzzles dreams friends families babies winter summer spring""".split()
HELDOUT_TOPICS = """rabbits lions penguins butterflies turtles elephants bananas grapes onions chocolate
pancakes violins trumpets paintings poems newspapers letters bakers pilots firefighters sailors trucks
subways tractors telescopes satellites thunder rainbows waterfalls jungles glaciers villages bakeries
theaters gates blankets mirrors pillows socks kites""".split()
WORDS = """river happy old morning green children water quiet strong winter people small bright simple
home world useful night warm food long family road together""".split()
HELDOUT_WORDS = "city golden slow garden clean evening money healthy".split()
FIRST_WORDS = "Sometimes Today Most Many Some Every Honestly Clearly Usually In For With When If".split()
HELDOUT_FIRST_WORDS = "Often Maybe Few Those Although".split()
WRAPS = {
    "square brackets": ("[", "]"),
    "round brackets": ("(", ")"),
    "double quotes": ("\"", "\""),
}
LABELS = ["Fact:", "Note:", "Answer:", "Reply:", "Sentence:", "A:"]
HELDOUT_LABELS = ["Info:", "Remark:"]
STEMS = {
    "families": "famil", "babies": "bab", "libraries": "librar", "butterflies": "butterfl",
    "bakeries": "baker", "potatoes": "potato", "tomatoes": "tomato", "volcanoes": "volcano",
    "buses": "bus", "beaches": "beach", "chess": "chess", "tennis": "tennis",
}


def stem(topic):
    """The part that the topic's singular and plural share: cats -> cat, families -> famil."""
    last = topic.split()[-1]
    return STEMS.get(last, last.removesuffix("s"))


class Pool:
    """What one of the two files may draw from."""

    def __init__(self, is_heldout):
        self.is_heldout = is_heldout
        self.topics = [t.replace("_", " ") for t in (HELDOUT_TOPICS if is_heldout else TOPICS)]
        self.words = HELDOUT_WORDS if is_heldout else WORDS
        self.first_words = HELDOUT_FIRST_WORDS if is_heldout else FIRST_WORDS
        self.labels = HELDOUT_LABELS if is_heldout else LABELS

    def wording(self, wordings, draw):
        return wordings[0] if self.is_heldout else draw.choice(wordings[1:])


def parameters(kind, pool, draw):
    if kind == "few_words":
        return {"count": draw.choice([5, 6, 7, 8])}
    if kind == "include":
        return {"word": draw.choice(pool.words)}
    if kind == "first_word":
        return {"word": draw.choice(pool.first_words)}
    if kind == "wrap":
        name = draw.choice(sorted(WRAPS))
        return {"name": name, "open": WRAPS[name][0], "close": WRAPS[name][1]}
    if kind == "label":
        return {"label": draw.choice(pool.labels)}
    return {}


def constraint_text(rule, task, pool, draw):
    text = pool.wording(WORDINGS[rule], draw).format(**task)
    return text[0].upper() + text[1:]


def example(rule, task, pool, draw):
    """[what the user says, a right reply]"""
    values, reply = EXAMPLES[rule]
    shown = {**task, **values}
    ask = pool.wording(ASKS, draw).format(topic="ice")
    return [f"{ask} {constraint_text(rule, shown, pool, draw)}", reply.format(**shown)]


def sentence_task(kind, pool, draw):
    rule = kind.removeprefix("again_")
    task = {"kind": kind, "topic": draw.choice(pool.topics), **parameters(rule, pool, draw)}
    ask = pool.wording(ASKS, draw).format(topic=task["topic"])
    constraint = constraint_text(rule, task, pool, draw)
    task["example"] = example(rule, task, pool, draw)
    if kind.startswith("again_"):
        task["turns"] = [ask, f"{pool.wording(AGAINS, draw)} {constraint}"]
    else:
        task["turns"] = [f"{ask} {constraint}"]
    return task


def kinds():
    return list(WORDINGS) + [f"again_{rule}" for rule in AGAIN_KINDS]


def make(is_heldout, per_kind, seed):
    draw, pool, tasks = random.Random(seed), Pool(is_heldout), []
    for kind in kinds():
        for number in range(per_kind):
            task = sentence_task(kind, pool, draw)
            name = f"{'heldout' if is_heldout else 'train'}-{kind}-{number}"
            tasks.append({"id": name, **task, "stem": stem(task["topic"]), "system": SYSTEM})
    return tasks


def as_lines(tasks):
    return "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    for name, tasks in (("tasks", make(False, 48, 1)), ("heldout", make(True, 8, 2))):
        with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as file:
            file.write(as_lines(tasks))


if __name__ == "__main__":
    main()
