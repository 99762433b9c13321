"""Writes a Llama checkpoint of Hugging Face's as a GGUF file of the same numbers, without a vocabulary: the
benchmark gives llama.cpp token ids.

usage: convert_gguf.py MODEL_FOLDER F32|F16|BF16 FILE.gguf
"""
import json
import os
import pathlib
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file

TYPES = {"F32": gguf.GGMLQuantizationType.F32, "F16": gguf.GGMLQuantizationType.F16,
         "BF16": gguf.GGMLQuantizationType.BF16}
OUTER_NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
               "lm_head.weight": "output.weight"}
LAYER_NAMES = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
               "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
               "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
               "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    """model.layers.7.self_attn.q_proj.weight -> blk.7.attn_q.weight"""
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    layer, part = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
    return f"blk.{layer}.{LAYER_NAMES[part]}.weight"


def pairs_from_halves(rows, num_heads):
    """Hugging Face rotates row i of a head with row i + half, GGUF's Llama neighbouring rows."""
    height, width = rows.shape
    half = height // num_heads // 2
    return rows.reshape(num_heads, 2, half, width).swapaxes(1, 2).reshape(height, width)


def add_config(writer, config):
    writer.add_vocab_size(config["vocab_size"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_tokenizer_model("no_vocab")


def add_tensors(writer, config, tensors, kind):
    for name, values in tensors.items():
        values = values.astype(np.float32)
        if ".q_proj." in name:
            values = pairs_from_halves(values, config["num_attention_heads"])
        if ".k_proj." in name:
            values = pairs_from_halves(values, config["num_key_value_heads"])
        if values.ndim == 1:
            writer.add_tensor(gguf_name(name), values)
        else:
            writer.add_tensor(gguf_name(name), gguf.quants.quantize(values, kind), raw_dtype=kind)


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in TYPES:
        raise SystemExit(__doc__)
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
    config = json.loads((folder / "config.json").read_text())
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    add_config(writer, config)
    add_tensors(writer, config, load_file(folder / "model.safetensors"), TYPES[sys.argv[2]])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, path)


if __name__ == "__main__":
    main()
