#!/usr/bin/env python3
"""Writes the golden numbers of the model's tests with PyTorch and transformers.

Needs torch, transformers and safetensors; the build and the tests do not. Usage:
    model.py tests/model/golden [FOLDER_OF_SMOLLM2_135M_INSTRUCT]
Each variant is a tiny random decoder in bfloat16 files, computed in float32: logits of one sequence,
the log-probability of each next token, and the gradients of its mean cross entropy for every parameter.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

IDS = [5, 17, 80, 3, 3, 41, 95, 0, 62, 17, 80, 9, 28, 77, 51, 6, 90, 33, 12, 70, 4, 58, 21, 1]
# Angles of four pairs with wavelengths 6, 20, 63 and 199: every branch of the scalings is met.
BASE = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            rms_norm_eps=1e-5, eos_token_id=1, bos_token_id=0, pad_token_id=None)
LONG_IDS = IDS + IDS[::-1] + IDS[5:] + IDS[:5]  # more than a chunk of the recurrent layers
HYBRID = dict(head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
              linear_value_head_dim=6, linear_conv_kernel_dim=4,
              layer_types=["linear_attention", "full_attention", "linear_attention"], num_hidden_layers=3)
ROUTED = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12)
EXPERTS = dict(ROUTED, head_dim=10)


def rope(kind, **options):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=100.0, **options))


# Of the architectures with recurrent layers, which turn only the front of each head.
PARTIAL_ROPE = dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)
YARN = dict(factor=4.0, beta_fast=4.0, beta_slow=1.0, original_max_position_embeddings=32)

# Architecture, and what differs from BASE.
VARIANTS = {
    "tied": ("Llama", dict(tie_word_embeddings=True)),
    "untied_biased": ("Llama", dict(tie_word_embeddings=False, attention_bias=True, mlp_bias=True)),
    "one_kv_head": ("Llama", dict(num_key_value_heads=1, tie_word_embeddings=True)),
    "linear": ("Llama", rope("linear", factor=4.0)),
    "llama3": ("Llama", rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32)),
    "yarn": ("Llama", rope("yarn", **YARN)),
    "yarn_scales": ("Llama", rope("yarn", **YARN, mscale=1.0, mscale_all_dim=0.5, truncate=False)),
    "dynamic": ("Llama", rope("dynamic", factor=4.0)),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "mistral_window": ("Mistral", dict(sliding_window=7)),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True)),
    "qwen2_window": ("Qwen2", dict(use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "qwen3": ("Qwen3", dict(head_dim=16)),
    "qwen3_biased": ("Qwen3", dict(head_dim=12, tie_word_embeddings=True, attention_bias=True)),
    "qwen3_window": ("Qwen3", dict(head_dim=16, use_sliding_window=True, sliding_window=6,
                                   layer_types=["sliding_attention", "full_attention"])),
    "qwen3_moe": ("Qwen3Moe", dict(EXPERTS, norm_topk_prob=True, num_hidden_layers=3, mlp_only_layers=[1])),
    "qwen3_moe_sparse_step": ("Qwen3Moe", dict(EXPERTS, norm_topk_prob=False, decoder_sparse_step=2,
                                               use_sliding_window=True, sliding_window=9)),
    "qwen3_moe_tied": ("Qwen3Moe", dict(ROUTED, tie_word_embeddings=True, attention_bias=True)),
    "qwen3_next": ("Qwen3Next", dict(HYBRID, **EXPERTS | dict(head_dim=16), norm_topk_prob=True, mlp_only_layers=[1],
                                     shared_expert_intermediate_size=14)),
    "qwen3_next_yarn": ("Qwen3Next", dict(HYBRID, **EXPERTS | dict(head_dim=16), norm_topk_prob=False,
                                          shared_expert_intermediate_size=14,
                                          rope_parameters=PARTIAL_ROPE | YARN | dict(rope_type="yarn"))),
    "qwen3_5": ("Qwen3_5", dict(HYBRID, tie_word_embeddings=True, linear_conv_kernel_dim=3)),
    # Positions of three rows, which are equal for text.
    "qwen3_5_mrope": ("Qwen3_5", dict(HYBRID, attention_bias=True, rope_parameters=PARTIAL_ROPE | dict(
        mrope_interleaved=True, mrope_section=[2, 1, 1]))),
    "qwen3_5_moe": ("Qwen3_5Moe", dict(HYBRID, **EXPERTS | dict(head_dim=16), shared_expert_intermediate_size=14,
                                       num_hidden_layers=2, layer_types=["linear_attention", "full_attention"])),
}


def randomise(model):
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        is_norm = name.endswith("norm.weight")
        from_one = 0 if hasattr(model.config, "linear_num_key_heads") and "linear_attn" not in name else 1
        scale = 0.5 if name.endswith(("A_log", "dt_bias", "conv1d.weight")) else 0.15
        value = from_one + 0.2 * noise if is_norm else scale * noise
        parameter.data = value.to(torch.bfloat16).float()


def by_file_name(name, tensor):
    """transformers keeps the experts of a layer in one tensor; files hold each one's projections."""
    prefix, _, kind = name.rpartition(".experts.")
    if not prefix:
        return {name: tensor}
    if kind == "down_proj":
        return {f"{prefix}.experts.{i}.down_proj.weight": part for i, part in enumerate(tensor)}
    parts = [expert.chunk(2) for expert in tensor]
    return {f"{prefix}.experts.{i}.{projection}_proj.weight": part
            for i, pair in enumerate(parts) for projection, part in zip(("gate", "up"), pair)}


def named(model, pick, prefix=""):
    return {prefix + file_name: part.contiguous().clone()
            for name, parameter in model.named_parameters()
            for file_name, part in by_file_name(name, pick(parameter)).items()}


def write_config(model, architecture, folder):
    kept = ("sliding_window",)  # where null means something
    fields = model.config.to_dict().items()
    config = {k: v for k, v in fields if (v not in (None, "") or k in kept) and "label" not in k}
    config["dtype"] = "bfloat16"
    config["architectures"] = [architecture + "ForCausalLM"]
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def write_variant(folder, architecture, options):
    is_hybrid = "linear_num_key_heads" in options
    kind = architecture + ("Text" if architecture.startswith("Qwen3_5") else "") + "Config"
    more = dict(rope_parameters=PARTIAL_ROPE) if is_hybrid else {}
    config = getattr(transformers, kind)(**{**BASE, **more, **options})
    model = getattr(transformers, architecture + "ForCausalLM")._from_config(config, attn_implementation="eager")
    randomise(model.float())
    folder.mkdir(parents=True, exist_ok=True)
    ids = torch.tensor([LONG_IDS if is_hybrid else IDS])
    logits = model(ids).logits[0]
    logprobs = logits.log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:])
    loss.backward()
    expected = {"ids": ids[0].float(), "logits": logits.detach().contiguous(),
                "logprobs": logprobs.detach(), "loss": loss.detach().reshape(1)}
    expected |= named(model, lambda parameter: parameter.grad, "grad.")
    save_file(expected, folder / "expected.safetensors")
    write_config(model, architecture, folder)
    weights = named(model, lambda parameter: parameter.detach().to(torch.bfloat16))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    check_folder(folder, ids, expected["logits"])


def check_folder(folder, ids, logits):
    """What was written is what transformers itself reads."""
    again = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        difference = (again(ids).logits[0] - logits).abs().max().item()
    if difference > 0:
        sys.exit(f"{folder}: transformers reads it back with logits that differ by {difference}")


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
    for name, (architecture, options) in VARIANTS.items():
        write_variant(golden / name, architecture, options)
    if len(sys.argv) > 2:
        write_real(sys.argv[2], golden / "smollm2_135m_instruct.json")
