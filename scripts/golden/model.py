#!/usr/bin/env python3
"""Writes the golden numbers of the model's tests with PyTorch and transformers.

Needs torch, transformers and safetensors; the build and the tests do not. Usage:
    model.py tests/model/golden [FOLDER_OF_SMOLLM2_135M_INSTRUCT]
Each variant is a tiny random Llama in bfloat16 files, computed in float32: logits of one sequence,
and for some the gradients of the mean cross entropy of the next token.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

IDS = [5, 17, 80, 3, 3, 41, 95, 0, 62, 17, 80, 9, 28, 77, 51, 6, 90, 33, 12, 70, 4, 58, 21, 1]
# Angles of four pairs with wavelengths 6, 20, 63 and 199: every branch of the scalings is met.
BASE = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            rms_norm_eps=1e-5, eos_token_id=1, bos_token_id=0, pad_token_id=None)


def rope(kind, **options):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=100.0, **options))


VARIANTS = {
    "tied": (dict(tie_word_embeddings=True), True),
    "untied_biased": (dict(tie_word_embeddings=False, attention_bias=True, mlp_bias=True), True),
    "one_kv_head": (dict(num_key_value_heads=1, tie_word_embeddings=True), False),
    "linear": (rope("linear", factor=4.0), False),
    "llama3": (rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=32), False),
    "yarn": (rope("yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0,
                  original_max_position_embeddings=32), False),
}


def randomise(model):
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        value = 1 + 0.2 * noise if name.endswith("norm.weight") else 0.15 * noise
        parameter.data = value.to(torch.bfloat16).float()


def write_variant(folder, options, with_gradients):
    model = LlamaForCausalLM(LlamaConfig(**{**BASE, **options}, attn_implementation="eager"))
    randomise(model)
    folder.mkdir(parents=True, exist_ok=True)
    ids = torch.tensor([IDS])
    logits = model(ids).logits[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:])
    loss.backward()
    expected = {"ids": ids[0].float(), "logits": logits.detach().contiguous(),
                "loss": loss.detach().reshape(1)}
    if with_gradients:
        expected |= {"grad." + name: p.grad.contiguous() for name, p in model.named_parameters()}
    save_file(expected, folder / "expected.safetensors")
    fields = model.config.to_dict().items()
    config = {k: v for k, v in fields if v not in (None, "") and "label" not in k}
    config["dtype"] = "bfloat16"
    config["architectures"] = ["LlamaForCausalLM"]
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    weights = {name: p.detach().to(torch.bfloat16).contiguous() for name, p in model.named_parameters()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def write_real(folder, path):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    ids = [1, 9690, 198, 504, 5575, 282, 4649, 314, 7042, 30, 2, 198, 1, 4093, 198, 2683, 314, 260, 3575, 282,
           3820, 47]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    top = logits.topk(8, dim=-1)
    path.write_text(json.dumps(dict(
        ids=ids, top_ids=top.indices.tolist(),
        top_logits=[[round(x, 6) for x in row] for row in top.values.tolist()],
        log_sums=[round(x, 6) for x in logits.double().logsumexp(-1).tolist()])) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    golden = pathlib.Path(sys.argv[1])
    for name, (options, with_gradients) in VARIANTS.items():
        write_variant(golden / name, options, with_gradients)
    if len(sys.argv) > 2:
        write_real(sys.argv[2], golden / "smollm2_135m_instruct.json")
