"""Logits and greedy replies of a checkpoint on the GPU against those on the CPU, in float32.

usage: compare_devices.py PRINT_LOGITS FOLDER [--devices cpu cuda]; exits with 1 when they differ.
"""
import argparse
import json
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/model/golden/smollm2_135m_instruct.json"
LOGITS_ATOL = 1e-3
GREEDY_TOKENS = 24


def numbers(printer, folder, device, cases):
    printed = subprocess.run([printer, folder, "float32", device], input=json.dumps({"cases": cases}), text=True,
                             check=True, stdout=subprocess.PIPE)
    return json.loads(printed.stdout)["cases"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("printer")
    parser.add_argument("folder")
    parser.add_argument("--devices", nargs=2, default=["cpu", "cuda"])
    arguments = parser.parse_args()
    ids = json.loads(GOLDEN.read_text(encoding="utf-8"))["ids"]
    cases = [{"ids": ids[:count], "greedy": GREEDY_TOKENS} for count in (8, 16, len(ids))]
    first, second = (numbers(arguments.printer, arguments.folder, device, cases) for device in arguments.devices)
    is_good = True
    for case, a, b in zip(cases, first, second, strict=True):
        difference = max(abs(x - y) for rows in zip(a["logits"], b["logits"], strict=True)
                         for x, y in zip(*rows, strict=True))
        same = a["greedy"] == b["greedy"]
        is_good = is_good and same and difference <= LOGITS_ATOL
        print(f"{len(case['ids'])} ids: largest difference of logits {difference:.2e}, "
              f"greedy reply {'equal' if same else 'DIFFERS'}: {a['greedy']}")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
