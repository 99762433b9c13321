"""The measurements as Markdown tables.

usage: table.py FOLDER      holds shares.jsonl, cost.jsonl and prefill.jsonl, or some of them
"""
import collections
import json
import pathlib
import statistics
import sys

WAYS = ("corisco", "exact prefix")


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(head, lines):
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in cells)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def one_row(lines, way):
    return percent(sum(line[way]["rows"] == 1 for line in lines), len(lines))


def rows_each(lines, way):
    return f"{statistics.mean(line[way]['rows'] for line in lines):.2f}"


def by(lines, key):
    groups = {line[key]: [] for line in lines}
    for line in lines:
        groups[line[key]].append(line)
    return groups


def kept_whole(lines, key, title):
    table = [[name, len(each), *(cell for way in WAYS for cell in (one_row(each, way), rows_each(each, way)))]
             for name, each in [*by(lines, key).items(), ("all", lines)]]
    return rows([title, "rollouts", "one row", "rows each", "exact prefix: one row", "rows each"], table)


def first_causes(lines, way):
    """Of each rollout: that it is one row, or why its second row began."""
    return collections.Counter("one row" if line[way]["rows"] == 1 else line[way]["causes"][0] for line in lines)


def all_causes(lines, way):
    return collections.Counter(cause for line in lines for cause in line[way]["causes"])


def cause_table(lines, count, head):
    counts = {way: count(lines, way) for way in WAYS}
    names = sorted(set().union(*counts.values()), key=lambda name: (name != "one row", -counts[WAYS[1]][name]))
    totals = {way: sum(counts[way].values()) for way in WAYS}
    table = [[name, *(percent(counts[way][name], totals[way]) for way in WAYS)] for name in names]
    table.append(["all", *(f"{totals[way]} = {percent(totals[way], totals[way])}" for way in WAYS)])
    return rows([head, *WAYS], table)


def share(lines):
    return "\n\n".join([
        "### Rollouts that stay one row, by form", kept_whole(lines, "form", "form"),
        "### By agent", kept_whole(lines, "agent", "agent"),
        "### What became of each rollout: one row, or why its second row began",
        cause_table(lines, first_causes, "rollouts"),
        "### Why rows began, of all splits", cause_table(lines, all_causes, "splits")])


def turns_of(lines, number, key, middle=statistics.median):
    return middle(line[key] for line in lines if line["turn"] == number)


def cost(lines):
    table = []
    for number in (1, 10, 50, 100):
        tokens = turns_of(lines, number, "prompt_tokens")
        line = [number, f"{tokens:,.0f}"]
        for is_edited in (False, True):
            each = [one for one in lines if one["edited"] == is_edited]
            line += [f"{1000 * turns_of(each, number, key):.1f}" for key in ("cpu_s", "latency_s")]
            # The mean, since a later conversation takes memory that an earlier one has given back.
            line += [f"{turns_of(each, number, key, statistics.mean) / 1e6:.1f}"
                     for key in ("memory_bytes", "journal_bytes")]
        table.append(line)
    return "### A turn of a long conversation\n\n" + rows(
        ["turn", "prompt tokens", "CPU ms", "latency ms", "MB so far", "journal MB so far",
         "edited: CPU ms", "latency ms", "MB so far", "journal MB so far"], table)


def prefill(lines):
    table = []
    for block, each in by(lines, "block_tokens").items():
        later = [line for line in each if line["turn"] > 1]
        mean = {key: statistics.mean(line[key] for line in later) for key in ("prompt", "tail", "computed")}
        table.append([block, f"{mean['prompt']:.0f}", f"{mean['tail']:.1f}", f"{mean['computed']:.1f}",
                      f"{mean['computed'] - mean['tail']:.1f}"])
    return "### Prompt tokens that the engine computes in a continued call, mean of 19\n\n" + rows(
        ["tokens of a block", "prompt", "new tail", "computed", "beyond the tail"], table)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for name, table in (("shares", share), ("cost", cost), ("prefill", prefill)):
        path = folder / f"{name}.jsonl"
        if path.exists():
            print(table(read(path)), end="\n\n")


if __name__ == "__main__":
    main()
