"""Compares an exported checkpoint in transformers with numbers that the daemon gave for it.

usage: export_check.py EXPORT_FOLDER NUMBERS.json [--atol 1e-4]

NUMBERS.json: {"cases": [{"ids": [..], "logits": [[..] per position, or of the last position alone],
"greedy": [ids that the daemon continues with, optional]}]}. Needs torch and transformers.
"""
import argparse
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@torch.no_grad()
def largest_difference(model, case):
    theirs = torch.tensor(case["logits"], dtype=torch.float64)
    ours = model(input_ids=torch.tensor([case["ids"]])).logits[0].double()
    if theirs.dim() == 1:
        theirs, ours = theirs[None], ours[-1:]
    if theirs.shape != ours.shape:
        raise SystemExit(f"logits of shape {list(theirs.shape)}, {list(ours.shape)} expected")
    return (theirs - ours).abs().max().item()


@torch.no_grad()
def greedy(model, ids, count):
    """Plain argmax: no sampling settings of the checkpoint can change it."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[-count:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("numbers")
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)
    model = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=dtype).eval()
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    with open(arguments.numbers, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    if not cases:
        raise SystemExit(f"{arguments.numbers} has no cases")
    is_good = True
    for number, case in enumerate(cases):
        difference = largest_difference(model, case)
        is_good = is_good and difference <= arguments.atol
        print(f"case {number}: {len(case['ids'])} ids, largest difference of logits {difference:.2e}")
        if case.get("greedy"):
            wanted = greedy(model, case["ids"], len(case["greedy"]))
            same = wanted == case["greedy"]
            is_good = is_good and same
            print(f"  greedy continuation {'equal' if same else 'DIFFERS'}: {tokenizer.decode(wanted)!r}")
    print("the export gives the daemon's numbers" if is_good else "the export differs")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
