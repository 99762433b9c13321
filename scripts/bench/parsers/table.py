"""Prints what bench_parsers and sglang_parsers.py measured as a table.

    python table.py CORISCO_JSONL SGLANG_JSONL
"""
import json
import sys

COLUMNS = [("microseconds_per_token", "µs a token"), ("streamed_megabytes_per_second", "streamed MB/s"),
           ("whole_megabytes_per_second", "whole MB/s")]


def lines(path):
    with open(path, encoding="utf-8") as file:
        return {line["family"]: line for line in map(json.loads, file)}


def figure(line, name):
    return f"{line[name]:.3g}" if name in line else "-"


def main():
    ours, theirs = lines(sys.argv[1]), lines(sys.argv[2])
    heads = [f"{who} {what}" for _, what in COLUMNS for who in ("Corisco", "SGLang")]
    print("| family | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for family, line in ours.items():
        cells = [figure(side, name) for name, _ in COLUMNS for side in (line, theirs.get(family, {}))]
        print(f"| {family} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
