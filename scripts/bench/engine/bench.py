"""Measures the engine beside its peers, in turn, on the same prompts and numbers of tokens. Writes a JSON line for
each figure.

usage: bench.py --daemon FILE --program FILE --model FOLDER --tokens FILE [options] FOLDER
"""
import argparse
import json
import pathlib
import random
import sys

import served
import workers

PREFILLS = (512, 4096)
CONTEXT = 512
STEPS = {1: 24, 4: 16, 16: 12, 64: 6}   # of a repeat, by the number of sequences


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("daemon", "program", "model"):
        parser.add_argument(f"--{name}", type=lambda text: pathlib.Path(text).absolute(), required=True)
    parser.add_argument("--python", help="with torch, transformers and llama_cpp; without it no peer is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=["float32", "bfloat16"])
    parser.add_argument("--gguf", type=lambda text: [part for part in text.split(",") if part], default=["F32", "BF16"])
    parser.add_argument("--sequences", type=lambda text: [int(part) for part in text.split(",")], default=list(STEPS))
    parser.add_argument("--no-served", action="store_true")
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).absolute())
    return parser.parse_args()


class Prompts:
    """Token ids without any meaning, each prompt another from its first token on."""

    def __init__(self, vocabulary):
        self.vocabulary, self.source = vocabulary, random.Random(1)

    def one(self, length):
        return [self.source.randrange(100, self.vocabulary) for _ in range(length)]


def prefill(all_workers, prompts, repeats, write):
    for length in PREFILLS:
        for repeat in range(repeats if length == PREFILLS[0] else max(1, repeats - 1)):
            ids = prompts.one(length)
            for worker in all_workers:
                answer = worker.ask("prefill", ids=ids)
                write({"point": f"prefill {length}", "tokens": length, "repeat": repeat, "name": worker.name} | answer)


def decode(all_workers, prompts, sequences, repeats, write):
    # The larger numbers' prompts begin with the smaller numbers': our engine finds them computed.
    contexts = [prompts.one(CONTEXT) for _ in range(max(sequences))]
    for number in sorted(sequences):
        before = {}
        for worker in all_workers:
            before[worker.name] = worker.ask("memory")
            worker.ask("start", prompts=contexts[:number])
            worker.ask("decode", steps=2)     # what is made at the first use
        for repeat in range(repeats):
            for worker in all_workers:
                answer = worker.ask("decode", steps=STEPS.get(number, 8))
                write({"point": f"decode {number}", "tokens": number * STEPS.get(number, 8), "sequences": number,
                       "repeat": repeat, "name": worker.name} | answer)
        for worker in all_workers:
            write({"point": f"memory {number}", "name": worker.name, "before": before[worker.name],
                   "after": worker.ask("memory")})
            worker.ask("stop")


def main():
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    workers.convert(options)
    config = json.loads((options.model / "config.json").read_text())
    prompts, all_workers = Prompts(config["vocab_size"]), []
    with open(options.folder / "runs.jsonl", "w", encoding="utf-8") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(json.dumps(line), file=sys.stderr, flush=True)
        try:
            for name, command in workers.commands(options).items():
                all_workers.append(workers.Worker(name, command, options.folder))
                all_workers[-1].answer()
            write({"point": "machine", "config": config} | all_workers[0].ask("machine"))
            prefill(all_workers, prompts, options.repeats, write)
            decode(all_workers, prompts, options.sequences, options.repeats, write)
        finally:
            for worker in all_workers:
                worker.end()
        if not options.no_served:
            for dtype in options.dtypes:
                write({"point": "served", "name": f"corisco {dtype}"} | served.run(options, dtype))


if __name__ == "__main__":
    main()
