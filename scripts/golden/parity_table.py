#!/usr/bin/env python3
"""Runs the model's golden tests and writes how far each variant is from transformers into the table of
docs/models.md. Fails if a test does, or if a variant has no row.

usage: parity_table.py build/release/test_model [docs/models.md]
Without the page it prints the table.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HEAD = "| architecture | variant | logits | log-probabilities | gradients, relative |"
# Architecture, variant's folder, what it is.
ROWS = [
    ("LlamaForCausalLM", "tied", "tied head"),
    ("LlamaForCausalLM", "untied_biased", "head of its own, biases everywhere"),
    ("LlamaForCausalLM", "one_kv_head", "one key head"),
    ("LlamaForCausalLM", "linear", "linear rotation"),
    ("LlamaForCausalLM", "llama3", "llama3 rotation"),
    ("LlamaForCausalLM", "yarn", "yarn rotation"),
    ("LlamaForCausalLM", "yarn_scales", "yarn rotation, `mscale`, `mscale_all_dim`, not truncated"),
    ("LlamaForCausalLM", "dynamic", "dynamic rotation"),
    ("MistralForCausalLM", "mistral", "no window"),
    ("MistralForCausalLM", "mistral_window", "window of 7"),
    ("Qwen2ForCausalLM", "qwen2", "tied head"),
    ("Qwen2ForCausalLM", "qwen2_window", "window of 5 in the second layer"),
    ("Qwen3ForCausalLM", "qwen3", "heads wider than hidden / heads"),
    ("Qwen3ForCausalLM", "qwen3_biased", "tied head, biases of attention"),
    ("Qwen3ForCausalLM", "qwen3_window", "`layer_types`: window of 6 in the first layer"),
    ("Qwen3MoeForCausalLM", "qwen3_moe", "`norm_topk_prob`, a dense layer by `mlp_only_layers`"),
    ("Qwen3MoeForCausalLM", "qwen3_moe_sparse_step",
     "probabilities as they are, `decoder_sparse_step` 2, window of 9"),
    ("Qwen3MoeForCausalLM", "qwen3_moe_tied", "tied head, biases of attention, no `head_dim`"),
    ("Qwen3NextForCausalLM", "qwen3_next", "experts and a dense layer, 71 tokens"),
    ("Qwen3NextForCausalLM", "qwen3_next_yarn", "experts' probabilities as they are, yarn rotation of half a head"),
    ("Qwen3_5ForCausalLM", "qwen3_5", "tied head, convolution of 3"),
    ("Qwen3_5ForCausalLM", "qwen3_5_mrope", "biases of attention, rotation by three rows of positions"),
    ("Qwen3_5MoeForCausalLM", "qwen3_5_moe", "experts in both kinds of layer"),
]
MEASURED = ("logits", "logprobs", "gradients")


def measure(program):
    """{variant: {what: largest difference}}, with and without engine.deterministic."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        run = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=Variants/Golden*.MatchTransformers*",
                              f"--gtest_output=json:{report}"], check=False, stdout=sys.stderr)
        if run.returncode != 0:
            raise SystemExit(f"{program} failed")
        suites = json.loads(report.read_text())["testsuites"]
    found = {}
    for test in (test for suite in suites for test in suite["testsuite"]):
        variant = found.setdefault(re.search(r'"(\w+)"', test["value_param"]).group(1), {})
        for name, value in test.items():
            what = name.removeprefix("deterministic_")
            if what in MEASURED:
                variant[what] = max(variant.get(what, 0.0), float(value))
    return found


def shown(value):
    """1.4305e-06 -> 1.4e-6"""
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}" if value else "0"


def table(found):
    if unknown := set(found) - {variant for _, variant, _ in ROWS}:
        raise SystemExit(f"no row says what these variants are: {', '.join(sorted(unknown))}")
    lines, last = [HEAD, "|---|---|---|---|---|"], None
    for architecture, variant, words in ROWS:
        first = "" if architecture == last else f" `{architecture}`"
        last = architecture
        lines.append(f"|{first} | {words} | {' | '.join(shown(found[variant][what]) for what in MEASURED)} |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    made = table(measure(sys.argv[1]))
    if len(sys.argv) == 2:
        print(made, end="")
        return
    page = pathlib.Path(sys.argv[2])
    before, rest = page.read_text().split(HEAD, 1)
    page.write_text(before + made + rest[rest.index("\n\n") + 1:])


if __name__ == "__main__":
    main()
