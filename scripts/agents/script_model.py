"""Writes a model that says what a script says, and a config that trains it: a run in which agents do their task,
with tools, and whose updates are real ones.

    script_model.py FOLDER AGENTS [SCRIPT]     AGENTS rollouts are a group; SCRIPT is configs/scripted/hello.jsonl

The chat template finds the script's rule for a prompt and ends the prompt with a control token for it. The weights
hold one sequence of tokens for each such token: attention and MLP add nothing, and each token's row of the output
layer is its successor's. So a reply is drawn as from any model, with log-probabilities and gradients of its own.
"""
import json
import math
import pathlib
import sys

import numpy
from safetensors.numpy import save_file

SCRIPTED = pathlib.Path(__file__).resolve().parents[2] / "configs/scripted"
HIDDEN, HEAD, INTERMEDIATE = 64, 16, 64
POSITIONS_MAX = 131072
SHOWN_CHARACTERS = 2000      # of a message: the rules see all of it, the model need not
SUCCESSOR_LOGIT = 18.0       # over 0 for each of the other tokens: one reply in ten thousand goes astray
CALL_END = "</tool_call>"    # a token of the scripted tokenizer
TURN_END = "<|im_end|>"

TEMPLATE = r"""{%- macro cue(seen) %}RULES{% endmacro %}
{%- set so_far = namespace(seen="") %}
{%- for tool in tools or [] %}{% set so_far.seen = so_far.seen ~ (tool | tojson) ~ "\n" %}{% endfor %}
{%- for message in messages %}
{{- "<|im_start|>" ~ message.role ~ "\n" }}
{%- if message.role == "assistant" %}{{ cue(so_far.seen) }}{% endif %}
{%- set so_far.seen = so_far.seen ~ "<|im_start|>" ~ message.role ~ "\n" ~ (message.content or "") %}
{{- (message.content or "")[:SHOWN] }}
{%- for call in message.tool_calls or [] %}
{{- '\n<tool_call>\n{"name": "' ~ call.function.name ~ '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- "<|im_end|>\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{{ cue(so_far.seen) }}{% endif %}
"""


def cue_of(number):
    return f"<|rule_{number}|>"


def template(rules):
    """The scripted template's turns, with the cue of the first rule that matches what stands before."""
    def condition(rule):
        return " and ".join([f"{json.dumps(text)} in seen" for text in rule.get("if", [])] +
                            [f"{json.dumps(text)} not in seen" for text in rule.get("unless", [])]) or "true"

    chain = "".join(f'{{% {"elif" if number else "if"} {condition(rule)} %}}{cue_of(number)}'
                    for number, rule in enumerate(rules))
    return TEMPLATE.replace("RULES", chain + "{% endif %}").replace("SHOWN", str(SHOWN_CHARACTERS))


def with_tokens(tokenizer, texts, special):
    """Adds each text as one token; returns their ids."""
    first = len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"])
    tokenizer["added_tokens"] += [
        {"id": first + number, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": special} for number, text in enumerate(texts)]
    return range(first, first + len(texts))


def successors(tokenizer, rules):
    """Adds the rules' tokens: {token: the one that follows it}."""
    ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    cues = with_tokens(tokenizer, [cue_of(number) for number in range(len(rules))], True)
    beginnings = [rule["reply"].removesuffix(CALL_END) for rule in rules]
    distinct = list(dict.fromkeys(beginnings))
    is_call = {beginning: rule["reply"].endswith(CALL_END) for beginning, rule in zip(beginnings, rules)}
    says = dict(zip(distinct, with_tokens(tokenizer, distinct, False)))
    following = {cue: says[beginning] for cue, beginning in zip(cues, beginnings)}
    following |= {says[text]: ids[CALL_END] if is_call[text] else ids[TURN_END] for text in distinct}
    return following | {ids[CALL_END]: ids[TURN_END]}


def weights(vocabulary, following):
    """Of a Llama of one layer. A token of the script has a direction of its own in the hidden state."""
    random = numpy.random.default_rng(0)

    def normal(*shape):
        return random.normal(0, 0.02, shape).astype(numpy.float32)

    assert len(following) <= HIDDEN, f"{len(following)} tokens of the script do not fit {HIDDEN} directions"
    embedding, output = normal(vocabulary, HIDDEN), numpy.zeros((vocabulary, HIDDEN), numpy.float32)
    for direction, (token, next_token) in enumerate(following.items()):
        embedding[token] = numpy.eye(HIDDEN, dtype=numpy.float32)[direction]
        output[next_token, direction] = SUCCESSOR_LOGIT / math.sqrt(HIDDEN)   # what the last norm makes of a 1
    ones, layer = numpy.ones(HIDDEN, numpy.float32), "model.layers.0."
    return {"model.embed_tokens.weight": embedding, "lm_head.weight": output, "model.norm.weight": ones,
            layer + "input_layernorm.weight": ones, layer + "post_attention_layernorm.weight": ones,
            layer + "self_attn.q_proj.weight": normal(HEAD, HIDDEN),
            layer + "self_attn.k_proj.weight": normal(HEAD, HIDDEN),
            layer + "self_attn.v_proj.weight": normal(HEAD, HIDDEN),
            layer + "self_attn.o_proj.weight": numpy.zeros((HIDDEN, HEAD), numpy.float32),
            layer + "mlp.gate_proj.weight": normal(INTERMEDIATE, HIDDEN),
            layer + "mlp.up_proj.weight": normal(INTERMEDIATE, HIDDEN),
            layer + "mlp.down_proj.weight": numpy.zeros((HIDDEN, INTERMEDIATE), numpy.float32)}


def write_model(folder, script=SCRIPTED / "hello.jsonl"):
    """Writes the Hugging Face folder and returns it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rules = [json.loads(line) for line in pathlib.Path(script).read_text().splitlines() if line.strip()]
    tokenizer = json.loads((SCRIPTED / "tokenizer.json").read_text())
    following = successors(tokenizer, rules)
    vocabulary = len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"])
    end = next(token["id"] for token in tokenizer["added_tokens"] if token["content"] == TURN_END)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
              "intermediate_size": INTERMEDIATE, "num_hidden_layers": 1, "num_attention_heads": 1,
              "num_key_value_heads": 1, "head_dim": HEAD, "vocab_size": vocabulary, "hidden_act": "silu",
              "max_position_embeddings": POSITIONS_MAX, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "torch_dtype": "float32",
              "eos_token_id": end}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text((SCRIPTED / "tokenizer_config.json").read_text())
    (folder / "chat_template.jinja").write_text(template(rules))
    save_file(weights(vocabulary, following), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def write_config(folder, agents):
    """A run whose groups are one rollout of each of so many agents, started elsewhere; for as long as it is let."""
    folder = pathlib.Path(folder)
    (folder / "tasks.jsonl").write_text('{"id": "hello"}\n')
    # JSON is YAML.
    config = {"run": {"name": "scripted-training", "updates": 1000},
              "model": {"path": ".", "dtype": "float32"},
              "engine": {"kv_memory_mb": 256},
              "sampling": {"max_tokens": 4096},
              "gateway": {"listen": "127.0.0.1:8080", "calls_per_attempt_max": 1000},
              "rollouts": {"tasks": "tasks.jsonl", "group_size": agents, "groups_per_update": 1, "seconds_max": 3600,
                           "harness": {"external": True}, "reward": {"source": "event"}},
              "metrics": {"tensorboard": False}}
    path = folder / "config.yaml"
    path.write_text(json.dumps(config, indent=1) + "\n")
    return path


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: script_model.py FOLDER AGENTS [SCRIPT]")
    write_model(sys.argv[1], *sys.argv[3:])
    print(write_config(sys.argv[1], int(sys.argv[2])))
