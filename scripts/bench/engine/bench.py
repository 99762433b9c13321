"""Measures the engine beside its peers, in turn, on the same prompts and numbers of tokens. Writes a JSON line for
each figure. Points that were measured before stay in FOLDER, so that parts can be run alone.

usage: bench.py --daemon FILE --program FILE --model FOLDER [--python FILE] [options] FOLDER
"""
import argparse
import json
import pathlib
import random
import sys

import served
import workers

CONTEXT = 512
STEPS = {1: 24, 4: 16, 16: 12, 64: 6}   # of a repeat, by the number of sequences
POINTS = ("prefill512", "prefill4096", "decode1", "decode4", "decode16", "decode64", "served")


def words(text):
    return [word for word in text.split(",") if word]


def points(text):
    chosen = words(text)
    if unknown := [point for point in chosen if point not in POINTS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: known are {', '.join(POINTS)}")
    return [point for point in POINTS if point in chosen]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("daemon", "program", "model"):
        parser.add_argument(f"--{name}", type=lambda text: pathlib.Path(text).absolute(), required=True)
    parser.add_argument("--python", help="with torch, transformers and llama_cpp; without it no peer is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--points", type=points, default=list(POINTS), help=f"of {','.join(POINTS)}")
    parser.add_argument("--dtypes", type=words, default=["float32", "bfloat16"], help="of ours")
    parser.add_argument("--peer-dtypes", type=words, help="of transformers; the same as ours if not given")
    parser.add_argument("--gguf", type=words, default=["F32", "BF16"], help="of llama.cpp; empty: without it")
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).absolute())
    return parser.parse_args()


class Prompts:
    """Token ids without any meaning, each prompt another from its first token on."""

    def __init__(self, vocabulary):
        self.vocabulary, self.source = vocabulary, random.Random(1)

    def one(self, length):
        return [self.source.randrange(100, self.vocabulary) for _ in range(length)]


def name_of(point):
    """decode16 -> "decode 16", as lines and tables have it."""
    kind = point.rstrip("0123456789")
    return f"{kind} {point[len(kind):]}".strip()


def prefill(all_workers, prompts, length, repeats, write):
    for worker in all_workers:
        worker.ask("prefill", ids=prompts.one(64))     # what is made at the first use
    for repeat in range(repeats if length <= CONTEXT else max(1, repeats - 1)):
        ids = prompts.one(length)
        for worker in all_workers:
            answer = worker.ask("prefill", ids=ids)
            write({"point": f"prefill {length}", "tokens": length, "repeat": repeat, "name": worker.name} | answer)


def decode(all_workers, contexts, number, repeats, write):
    before = {}
    for worker in all_workers:
        before[worker.name] = worker.ask("memory")
        worker.ask("start", prompts=contexts[:number])
        worker.ask("decode", steps=2)
    for repeat in range(repeats):
        for worker in all_workers:
            answer = worker.ask("decode", steps=STEPS[number])
            write({"point": f"decode {number}", "tokens": number * STEPS[number], "sequences": number,
                   "repeat": repeat, "name": worker.name} | answer)
    for worker in all_workers:
        write({"point": f"memory {number}", "name": worker.name, "before": before[worker.name],
               "after": worker.ask("memory")})
        worker.ask("stop")


def measure(all_workers, options, write):
    config = json.loads((options.model / "config.json").read_text())
    prompts = Prompts(config["vocab_size"])
    write({"point": "machine", "config": config} | all_workers[0].ask("machine"))
    # The larger numbers' prompts begin with the smaller numbers': our engine finds them computed.
    contexts = [prompts.one(CONTEXT) for _ in range(max(STEPS))]
    for point in options.points:
        kind, *count = name_of(point).split()
        if kind == "prefill":
            prefill(all_workers, prompts, int(count[0]), options.repeats, write)
        elif kind == "decode":
            decode(all_workers, contexts, int(count[0]), options.repeats, write)


def kept_lines(path, measured):
    """The lines of earlier runs of points that are not measured anew."""
    if not path.exists():
        return []
    gone = {name_of(point) for point in measured}
    gone |= {name.replace("decode", "memory") for name in gone}
    return [line for line in path.read_text().splitlines() if json.loads(line)["point"] not in gone]


def main():
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "runs.jsonl"
    kept = kept_lines(path, options.points)
    all_workers = []
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in kept)

        def write(line):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(json.dumps(line), file=sys.stderr, flush=True)
        if any(point != "served" for point in options.points):
            workers.convert(options)
            try:
                for name, command in workers.commands(options).items():
                    all_workers.append(workers.Worker(name, command, options.folder))
                    all_workers[-1].answer()
                measure(all_workers, options, write)
            finally:
                for worker in all_workers:
                    worker.end()
        for dtype in options.dtypes if "served" in options.points else ():
            write({"point": "served", "name": f"corisco {dtype}"} | served.run(options, dtype))


if __name__ == "__main__":
    main()
