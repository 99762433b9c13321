"""The quickstart's recipe: its tasks are reproducible and held apart, its reward can't be had by tricks."""
import concurrent.futures
import importlib.util
import json
import pathlib
import sys

import pytest

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "configs" / "quickstart"
sys.path.insert(0, str(RECIPE))
import make_tasks  # noqa: E402
import reward as grader  # noqa: E402


def lines(name):
    return [json.loads(line) for line in (RECIPE / name).read_text().splitlines()]


def task(kind, topic="cats", turns=("Write one short sentence about cats.",), **fields):
    stem = make_tasks.stem(topic)
    return {"id": "t", "kind": kind, "topic": topic, "stem": stem, "turns": list(turns),
            "system": make_tasks.SYSTEM, "example": ["Write a sentence about ice.", "Ice melts fast in a hot pan."],
            **fields}


def graded(a_task, *replies, finish="stop"):
    calls = [{"turn": i, "choice": 0, "messages": [], "reply": reply, "finish": finish, "num_tokens": 9}
             for i, reply in enumerate(replies)]
    return grader.reward(a_task, {"calls": calls})[0]


def test_files_are_what_the_generator_makes():
    assert (RECIPE / "tasks.jsonl").read_text() == make_tasks.as_lines(make_tasks.make(False, 48, 1))
    assert (RECIPE / "heldout.jsonl").read_text() == make_tasks.as_lines(make_tasks.make(True, 8, 2))


def test_heldout_shares_no_topic_word_or_wording_with_training():
    train, heldout = lines("tasks.jsonl"), lines("heldout.jsonl")
    assert {t["kind"] for t in train} == {t["kind"] for t in heldout}
    for field in ("stem", "word", "label"):
        shared = {t[field] for t in train if field in t} & {t[field] for t in heldout if field in t}
        assert not shared, (field, shared)
    for kind, wordings in make_tasks.WORDINGS.items():
        assert len(set(wordings)) == len(wordings) >= 4, kind
        kept = max(wordings[0].replace("}", "{").split("{")[::2], key=len).strip("\" ")
        turns = [turn for t in train if t["kind"].endswith(kind) for turn in t["turns"]]
        assert turns and len(kept) > 5 and not any(kept in turn for turn in turns), (kind, kept)


def test_the_examples_are_right_replies_about_ice():
    for a_task in lines("tasks.jsonl") + lines("heldout.jsonl"):
        values, _ = make_tasks.EXAMPLES[a_task["kind"].removeprefix("again_")]
        about_ice = {**a_task, **values, "stem": "ice", "turns": [""], "example": ["", ""],
                     "kind": a_task["kind"].removeprefix("again_")}
        assert graded(about_ice, a_task["example"][1]) == 1, a_task
        assert graded({**a_task, "stem": "ice"}, *[a_task["example"][1]] * len(a_task["turns"])) == 0


@pytest.mark.parametrize("topic, stem", [("cats", "cat"), ("families", "famil"), ("the sun", "sun"),
                                         ("potatoes", "potato"), ("chess", "chess"), ("bread", "bread")])
def test_stems(topic, stem):
    assert make_tasks.stem(topic) == stem


def test_every_topic_names_itself():
    for a_task in lines("tasks.jsonl") + lines("heldout.jsonl"):
        assert grader.names(f"I like {a_task['topic']} a lot.", a_task["stem"]), a_task["topic"]


@pytest.mark.parametrize("a_task, good, bad", [
    (task("lowercase"), "cats sleep most of the day.", "Cats sleep most of the day."),
    (task("capitals"), "CATS SLEEP MOST OF THE DAY.", "CATS sleep most of the day."),
    (task("few_words", count=5), "Cats sleep all day long.", "Cats sleep most of the day."),
    (task("include", word="river"), "Cats avoid the cold river.", "Cats avoid the cold rivers."),
    (task("first_word", word="Often"), "Often cats sleep all day.", "Cats often sleep all day."),
    (task("wrap", open="*", close="*"), "*Cats sleep all day.*", "*Cats* sleep all day."),
    (task("wrap", open="[", close="]"), "[Cats sleep all day.]", "[Cats sleep all day]."),
    (task("label", label="Fact:"), "Fact: Cats sleep all day.", "Cats sleep all day."),
    (task("question"), "Do cats sleep all day?", "Cats sleep all day."),
])
def test_each_constraint_alone_decides(a_task, good, bad):
    assert graded(a_task, good) == 1.0
    assert graded(a_task, bad) == 0.25


@pytest.mark.parametrize("reply", [
    "Dogs sleep all day long.",                        # another topic
    "The category is very large.",                     # the stem inside another word
    "Cats.",                                           # too short
    "Cats cats cats cats cats.",                       # the topic and nothing else
    "Cats and cats and cats sleep.",                   # a word three times
    "Cats sleep sleep all day.",                       # a word twice in a row
    "Cats sleep all day",                              # no end
    "Cats sleep all day. They eat.",                   # two sentences
    "Cats sleep\nall day long.",                       # two lines
    "Cats s l e e p all day.",                         # single letters
    "Write one short sentence about cats.",            # the task itself
    "Please write one short sentence about cats now.",
    "Cats like dogs, birds and eggs.",                  # a list of topics
    "猫 cats sleep all day.",
    "cats " * 30 + ".",
    "",
])
def test_tricks_earn_nothing(reply):
    assert graded(task("few_words", count=30), "Cats sleep all day.") == 1.0
    assert graded(task("few_words", count=30), reply) == 0.0


def test_a_reply_that_was_cut_off_earns_nothing():
    assert graded(task("lowercase"), "cats sleep all day.", finish="length") == 0.0


def test_both_turns_count():
    again = task("again_lowercase", turns=("Write one short sentence about cats.", "Again. Use lowercase."))
    assert graded(again, "Cats sleep all day.", "cats sleep all day.") == 1.0
    assert graded(again, "Cats sleep all day.", "Cats sleep all day.") == 0.25
    assert graded(again, "I don't know what to say.", "cats sleep all day.") == 0.0
    assert graded(again, "Cats sleep all day.") == 0.0


def control_module():
    spec = importlib.util.spec_from_file_location("control", RECIPE / "control_shuffled_reward.py")
    control = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)
    return control


def test_the_control_deals_a_groups_own_rewards():
    control = control_module()
    rewards = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    orders = [control.dealt(rewards, seed) for seed in range(20)]
    assert all(sorted(order) == sorted(rewards) for order in orders)
    assert len({tuple(order) for order in orders}) > 5


def test_the_controls_siblings_wait_for_each_other(tmp_path):
    control = control_module()
    with concurrent.futures.ThreadPoolExecutor(control.GROUP_SIZE) as pool:
        met = list(pool.map(lambda number: control.meet(tmp_path / "t", number, number / 4), range(control.GROUP_SIZE)))
    assert met == [{number: number / 4 for number in range(control.GROUP_SIZE)}] * control.GROUP_SIZE


def test_no_fixed_reply_is_worth_much():
    """Of the replies that scripts/report/constant_reply.py tries, every 150th; untrained models begin at 0.08."""
    sys.path.insert(0, str(RECIPE.parents[1] / "scripts" / "report"))
    import constant_reply

    a_task, other = task("lowercase"), task("capitals")
    assert constant_reply.score(grader, [a_task, other], "cats sleep most of the day.") == (1 + 0.25) / 2
    tasks = lines("heldout.jsonl")
    replies = sorted(set(constant_reply.candidates(tasks)))
    assert len(replies) > 10000
    assert 0 < max(constant_reply.score(grader, tasks, reply) for reply in replies[::150]) <= 0.08 + 0.05
