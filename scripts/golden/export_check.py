"""Compares a checkpoint in transformers with what the daemon's own model and engine make of it:
the logits of every position, and greedy continuations. The bound holds against transformers in
float64, which has no rounding to speak of; its difference in the same type is printed beside it.

usage: export_check.py FOLDER [--printer build/release/print_logits] [--dtype bfloat16 --atol 2]

Needs torch and transformers, and the tests' build. Exits with 1 when anything differs.
"""
import argparse
import json
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = [
    "What is the capital of France?",
    "Write one short sentence about rivers. Use only lowercase letters.",
    "List three fruits.",
    "Explain in two sentences why the sky is blue, then say it in German: \u00fcber \u00d6l.",
]
GREEDY_TOKENS = 24


def prompt_ids(tokenizer, text):
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False,
                                             add_generation_prompt=True)
    return tokenizer(rendered, add_special_tokens=False).input_ids


@torch.no_grad()
def largest_difference(model, ids, ours):
    theirs = model(input_ids=torch.tensor([ids])).logits[0].double()
    return (theirs - torch.tensor(ours, dtype=torch.float64)).abs().max().item()


@torch.no_grad()
def greedy(model, ids):
    """Plain argmax: no sampling settings of the checkpoint can change it."""
    for _ in range(GREEDY_TOKENS):
        ids = [*ids, int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax())]
    return ids[-GREEDY_TOKENS:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--printer", default="build/release/print_logits")
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    same_type = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=getattr(torch, arguments.dtype)).eval()
    exact = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=torch.float64).eval()
    cases = [{"ids": prompt_ids(tokenizer, text), "greedy": GREEDY_TOKENS} for text in PROMPTS]
    printed = subprocess.run([arguments.printer, arguments.folder, arguments.dtype], check=True,
                             input=json.dumps({"cases": cases}), capture_output=True, text=True)
    is_good = True
    for case, ours in zip(cases, json.loads(printed.stdout)["cases"], strict=True):
        difference = largest_difference(exact, case["ids"], ours["logits"])
        beside = largest_difference(same_type, case["ids"], ours["logits"])
        continued = greedy(same_type, case["ids"])
        same = continued == ours["greedy"]
        is_good = is_good and difference <= arguments.atol and (same or arguments.dtype == "bfloat16")
        print(f"{len(case['ids'])} ids: largest difference of logits {difference:.2e} (in {arguments.dtype} "
              f"{beside:.2e}), greedy continuation {'equal' if same else 'DIFFERS'}: {tokenizer.decode(continued)!r}")
    print("equal within the bound" if is_good else "the numbers differ")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
