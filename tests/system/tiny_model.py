"""A random Llama, Qwen3, Qwen3-MoE or Qwen3.5-MoE of 0.1 M parameters with a byte-level tokenizer, as a Hugging Face
folder.

Deterministic in its seed; needs numpy and safetensors only.
"""
import json
import pathlib

import numpy
from safetensors.numpy import save_file

HIDDEN, LAYERS, HEADS, KV_HEADS, INTERMEDIATE = 64, 2, 4, 2, 128
# What each has beyond the others: fields of its config.
ARCHITECTURES = {
    "LlamaForCausalLM": {"model_type": "llama", "head_dim": HIDDEN // HEADS, "mlp_bias": False},
    "Qwen3ForCausalLM": {"model_type": "qwen3", "head_dim": 24, "use_sliding_window": False},
    "Qwen3MoeForCausalLM": {"model_type": "qwen3_moe", "head_dim": 24, "use_sliding_window": False, "num_experts": 4,
                            "num_experts_per_tok": 2, "moe_intermediate_size": 64, "norm_topk_prob": True,
                            "decoder_sparse_step": 1, "mlp_only_layers": []},
    "Qwen3_5MoeForCausalLM": {"model_type": "qwen3_5_moe_text", "head_dim": 24, "num_experts": 4,
                              "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                              "shared_expert_intermediate_size": 32,
                              "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
                              "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
                              "linear_conv_kernel_dim": 4},
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
            "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def byte_symbols():
    """The printable stand-ins of the 256 bytes that byte-level tokenizers use."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in kept]
    symbols = {byte: chr(byte) for byte in kept}
    symbols.update({byte: chr(256 + index) for index, byte in enumerate(moved)})
    return [symbols[byte] for byte in range(256)]


def tokenizer():
    vocabulary = {symbol: index for index, symbol in enumerate(byte_symbols())}
    added = [{"id": 256 + index, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for index, token in enumerate(SPECIAL)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
                      "merges": []}}


def recurrent(name, normal, fields):
    """A gated DeltaNet layer's."""
    heads = fields["linear_num_value_heads"]
    keys = fields["linear_num_key_heads"] * fields["linear_key_head_dim"]
    values = heads * fields["linear_value_head_dim"]
    return {name + "A_log": normal(heads), name + "dt_bias": normal(heads),
            name + "conv1d.weight": normal(2 * keys + values, 1, fields["linear_conv_kernel_dim"]),
            name + "in_proj_qkv.weight": normal(2 * keys + values, HIDDEN),
            name + "in_proj_z.weight": normal(values, HIDDEN),
            name + "in_proj_a.weight": normal(heads, HIDDEN), name + "in_proj_b.weight": normal(heads, HIDDEN),
            name + "norm.weight": numpy.ones(fields["linear_value_head_dim"], numpy.float32),
            name + "out_proj.weight": normal(HIDDEN, values)}


def weights(random, vocabulary, fields):
    def normal(*shape):
        return random.normal(0, 0.1, shape).astype(numpy.float32)

    def mlp(name, width):
        return {name + "gate_proj.weight": normal(width, HIDDEN), name + "up_proj.weight": normal(width, HIDDEN),
                name + "down_proj.weight": normal(HIDDEN, width)}

    head, is_hybrid = fields["head_dim"], "layer_types" in fields
    # Such models store the weights of these norms less 1, and have a gate in the queries' projection.
    norm = numpy.zeros if is_hybrid else numpy.ones
    tensors = {"model.embed_tokens.weight": normal(vocabulary, HIDDEN),
               "model.norm.weight": norm(HIDDEN, numpy.float32)}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        tensors |= {name + f"{part}_layernorm.weight": norm(HIDDEN, numpy.float32)
                    for part in ("input", "post_attention")}
        if is_hybrid and fields["layer_types"][layer] == "linear_attention":
            tensors |= recurrent(name + "linear_attn.", normal, fields)
        else:
            tensors |= {name + "self_attn.q_proj.weight": normal(HEADS * head * (2 if is_hybrid else 1), HIDDEN),
                        name + "self_attn.k_proj.weight": normal(KV_HEADS * head, HIDDEN),
                        name + "self_attn.v_proj.weight": normal(KV_HEADS * head, HIDDEN),
                        name + "self_attn.o_proj.weight": normal(HIDDEN, HEADS * head)}
            if fields["model_type"].startswith("qwen3"):
                tensors |= {name + f"self_attn.{part}_norm.weight": norm(head, numpy.float32) for part in "qk"}
        if "num_experts" not in fields:
            tensors |= mlp(name + "mlp.", INTERMEDIATE)
            continue
        tensors[name + "mlp.gate.weight"] = normal(fields["num_experts"], HIDDEN)
        for expert in range(fields["num_experts"]):
            tensors |= mlp(name + f"mlp.experts.{expert}.", fields["moe_intermediate_size"])
        if "shared_expert_intermediate_size" in fields:
            tensors |= mlp(name + "mlp.shared_expert.", fields["shared_expert_intermediate_size"])
            tensors[name + "mlp.shared_expert_gate.weight"] = normal(1, HIDDEN)
    return tensors


def write(folder, seed=0, architecture="LlamaForCausalLM"):
    """Writes the model into folder and returns it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = 256 + len(SPECIAL)
    fields = ARCHITECTURES[architecture]
    config = {"architectures": [architecture], "hidden_size": HIDDEN,
              "intermediate_size": INTERMEDIATE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "num_key_value_heads": KV_HEADS, "vocab_size": vocabulary,
              "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": True, "attention_bias": False, "torch_dtype": "float32",
              "bos_token_id": 257, "eos_token_id": 258, **fields}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    # Of these only the end token counts: sampling is the run's, and with these all siblings would be alike.
    (folder / "generation_config.json").write_text(json.dumps(
        {"eos_token_id": 258, "do_sample": True, "temperature": 0.01, "top_k": 1, "top_p": 0.1,
         "repetition_penalty": 3.0}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"chat_template": TEMPLATE, "bos_token": "<|im_start|>", "eos_token": "<|im_end|>",
         "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1024}))
    save_file(weights(numpy.random.default_rng(seed), vocabulary, fields), folder / "model.safetensors", metadata={"format": "pt"})
    return folder
