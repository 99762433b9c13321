#!/usr/bin/env python3
"""Golden numbers of the trainer, from PyTorch in float64: writes tests/trainer/golden/.

An implementation of its own: the decoder, the loss and the whole update are written out here from
their definitions, one row at a time, without packing, slices or hand-written derivatives. Needs torch
and safetensors; with transformers installed, the decoder is compared with its Llama first.
"""
import json
import math
import pathlib
import random

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/trainer/golden"
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 48, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True, "attention_bias": False,
    "mlp_bias": False, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
}
OPTIONS = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "correction_cap": 2.0,
           "learning_rate": 0.01, "weight_decay": 0.1, "grad_norm_max": 0.05,
           # Large, because a small one makes a first step of the noise in gradients near zero.
           "epsilon": 1e-3}
SCENARIOS = {
    "current": {"updates": 1, "epochs": 1, "kl_coefficient": 0.0},
    "older": {"updates": 2, "epochs": 2, "kl_coefficient": 0.5},
    "epochs": {"updates": 1, "epochs": 2, "kl_coefficient": 0.0},
}


def save_tensors(tensors, path):
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)


def to_float32(tensor):
    return tensor.float().double()


def random_weights():
    torch.manual_seed(11)
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    kv = CONFIG["num_key_value_heads"] * CONFIG["head_dim"]
    shapes = {"model.embed_tokens.weight": (CONFIG["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for i in range(CONFIG["num_hidden_layers"]):
        p = f"model.layers.{i}."
        shapes |= {p + "input_layernorm.weight": (hidden,), p + "post_attention_layernorm.weight": (hidden,),
                   p + "self_attn.q_proj.weight": (hidden, hidden),
                   p + "self_attn.k_proj.weight": (kv, hidden), p + "self_attn.v_proj.weight": (kv, hidden),
                   p + "self_attn.o_proj.weight": (hidden, hidden),
                   p + "mlp.gate_proj.weight": (inner, hidden), p + "mlp.up_proj.weight": (inner, hidden),
                   p + "mlp.down_proj.weight": (hidden, inner)}
    noise = {n: torch.randn(s, dtype=torch.float64) for n, s in sorted(shapes.items())}
    return {n: to_float32(1 + 0.1 * x if len(shapes[n]) == 1 else 0.3 * x) for n, x in noise.items()}


def norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * weight


def rotate(x, positions):
    half = CONFIG["head_dim"] // 2
    angles = positions[:, None] * CONFIG["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def logits(weights, ids):
    heads, size = CONFIG["num_attention_heads"], CONFIG["head_dim"]
    count = len(ids)
    positions = torch.arange(count, dtype=torch.float64)
    x = weights["model.embed_tokens.weight"][torch.tensor(ids)]
    causal = torch.full((count, count), -math.inf, dtype=torch.float64).triu(1)
    for i in range(CONFIG["num_hidden_layers"]):
        w = {n.removeprefix(f"model.layers.{i}."): t for n, t in weights.items()}
        h = norm(x, w["input_layernorm.weight"])
        q = rotate((h @ w["self_attn.q_proj.weight"].T).view(count, heads, size), positions)
        k = rotate((h @ w["self_attn.k_proj.weight"].T).view(count, -1, size), positions)
        v = (h @ w["self_attn.v_proj.weight"].T).view(count, -1, size)
        k, v = (t.repeat_interleave(heads // t.shape[1], 1) for t in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(size) + causal
        mixed = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).reshape(count, -1)
        x = x + mixed @ w["self_attn.o_proj.weight"].T
        h = norm(x, w["post_attention_layernorm.weight"])
        gate = torch.nn.functional.silu(h @ w["mlp.gate_proj.weight"].T)
        x = x + (gate * (h @ w["mlp.up_proj.weight"].T)) @ w["mlp.down_proj.weight"].T
    return norm(x, weights["model.norm.weight"]) @ weights["model.embed_tokens.weight"].T


def row_logprobs(weights, row):
    """Of every token but the first, at the row's temperature."""
    scores = (logits(weights, row["ids"][:-1]) / row["temperature"]).log_softmax(-1)
    return scores.gather(1, torch.tensor(row["ids"][1:])[:, None])[:, 0]


def trained(row):
    return [t for t, m in enumerate(row["mask"]) if m]


def make_batch(weights, current, older_versions, seed):
    """Two-turn and branching rollouts, siblings that begin alike, and one of each odd kind."""
    draw = random.Random(seed)
    groups = []
    for occurrence in range(3):
        prompt = [1] + [draw.randrange(3, 48) for _ in range(7)]
        rollouts = []
        for sibling in range(4):
            first = [draw.randrange(3, 6)] + [draw.randrange(3, 48) for _ in range(draw.randrange(2, 7))]
            ids, mask = prompt + first, [0] * len(prompt) + [1] * len(first)
            if sibling % 2:
                context, second = [7, 8, 9], [draw.randrange(3, 48) for _ in range(3)]
                ids, mask = ids + context + second, mask + [0] * 3 + [1] * 3
            rows = [{"ids": ids, "mask": mask}]
            if sibling == 3:
                other = prompt[:4] + [draw.randrange(3, 48) for _ in range(4)]
                rows.append({"ids": other, "mask": [0] * 5 + [1] * 3})
            reward = draw.choice([0, 0.25, 1]) if occurrence < 2 else 0.5
            rollouts.append({"sibling": sibling, "is_valid": True, "reward": reward, "rows": rows})
        groups.append({"task_occurrence": occurrence, "rollouts": rollouts})
    groups[0]["rollouts"][0]["reward"], groups[0]["rollouts"][1]["reward"] = 1, 0
    groups[1]["rollouts"][2] |= {"is_valid": False, "reward": 1000}
    groups[1]["rollouts"][0]["rows"] = []
    for group in groups:
        for rollout in group["rollouts"]:
            for row in rollout["rows"]:
                row["temperature"] = 0.75
                exact = row_logprobs(weights, row)
                row["sampled_logprobs"], row["versions"] = [0.0] * len(row["ids"]), [0] * len(row["ids"])
                for t in trained(row):
                    noise = torch.tensor(draw.gauss(0, 0.4), dtype=torch.float64)
                    row["sampled_logprobs"][t] = to_float32(exact[t - 1] + noise).item()
                    row["versions"][t] = draw.randrange(0, current + 1) if older_versions else current
    return {"groups": groups}


def advantages(group):
    rewards = torch.tensor([r["reward"] for r in group["rollouts"] if r["is_valid"]], dtype=torch.float64)
    if (rewards == rewards[0]).all():
        return [0.0] * len(group["rollouts"])
    mean, deviation = rewards.mean(), rewards.std(unbiased=True)
    return [((r["reward"] - mean) / (deviation + 1e-6)).item() if r["is_valid"] else 0.0
            for r in group["rollouts"]]


def rows_of(batch, every):
    """(row, advantage, weight) of the rows that matter for the loss."""
    num_rollouts = sum(r["is_valid"] for g in batch["groups"] for r in g["rollouts"])
    for group in batch["groups"]:
        for rollout, advantage in zip(group["rollouts"], advantages(group)):
            if not rollout["is_valid"] or (advantage == 0 and not every):
                continue
            tokens = sum(len(trained(row)) for row in rollout["rows"])
            for row in rollout["rows"]:
                yield row, advantage, 1 / (num_rollouts * tokens)


def token_losses(logprob, old, sampled, reference, advantage, options, is_corrected):
    ratio = (logprob - old).clamp(-20, 20).exp()
    unclipped = -advantage * ratio
    clipped = -advantage * ratio.clamp(1 - options["clip_low"], 1 + options["clip_high"])
    policy = torch.maximum(unclipped, clipped)
    is_clipped = clipped > unclipped
    if advantage < 0:
        is_clipped = is_clipped | (policy > -advantage * options["dual_clip"])
        policy = policy.clamp(max=-advantage * options["dual_clip"])
    if is_corrected:
        policy = policy * (old - sampled).clamp(-20, 20).exp().clamp(max=options["correction_cap"])
    difference = (logprob - reference).clamp(-20, 20)
    divergence = ((-difference).exp() + difference - 1).clamp(-10, 10)
    return policy + options["kl_coefficient"] * divergence, is_clipped, divergence


def update(weights, optimizer, batch, current, reference, options):
    """Runs all epochs; gradients of the last stay in place. Returns the report."""
    every = options["kl_coefficient"] > 0
    rows = list(rows_of(batch, every))
    tokens = [(row, t) for row, _, _ in rows for t in trained(row)]
    ages = [current - row["versions"][t] for row, t in tokens]
    is_corrected = max(ages) > 0 or options["epochs"] > 1
    sums = dict.fromkeys(["loss", "clipped", "with_advantage", "tokens", "kl_sampled", "kl_reference"], 0.0)
    with torch.no_grad():
        before = [row_logprobs(weights, row) for row, _, _ in rows]
        anchors = [row_logprobs(reference, row) for row, _, _ in rows]
    apart = {}  # by age
    for i, (row, _, _) in enumerate(rows):
        for t in trained(row):
            difference = abs(before[i][t - 1].item() - row["sampled_logprobs"][t])
            apart.setdefault(min(current - row["versions"][t], 4), []).append(difference)
    differences = apart.get(0)
    for _ in range(options["epochs"]):
        optimizer.zero_grad()
        for i, (row, advantage, weight) in enumerate(rows):
            at = torch.tensor(trained(row)) - 1
            sampled = torch.tensor(row["sampled_logprobs"], dtype=torch.float64)[at + 1]
            logprob = row_logprobs(weights, row)[at]
            old = before[i][at] if is_corrected else sampled
            losses, is_clipped, divergence = token_losses(logprob, old, sampled, anchors[i][at], advantage,
                                                          options, is_corrected)
            (weight * losses.sum()).backward()
            sums["loss"] += (weight * losses.sum()).item()
            sums["kl_sampled"] += (sampled - logprob).sum().item()
            sums["kl_reference"] += divergence.sum().item() if every else 0
            sums["tokens"] += len(at)
            if advantage != 0:
                sums["with_advantage"] += len(at)
                sums["clipped"] += is_clipped.sum().item()
        gradients = {n: w.grad.clone() for n, w in weights.items()}
        grad_norm = math.sqrt(sum(w.grad.pow(2).sum().item() for w in weights.values()))
        for w in weights.values():
            w.grad *= min(1, options["grad_norm_max"] / grad_norm)
        optimizer.step()
        with torch.no_grad():
            for w in weights.values():
                w.copy_(to_float32(w))
    report = {"loss": sums["loss"] / options["epochs"],
              "clipped_fraction": sums["clipped"] / sums["with_advantage"],
              "kl_sampled": sums["kl_sampled"] / sums["tokens"],
              "kl_reference": sums["kl_reference"] / sums["tokens"],
              "mismatch_mean": sum(differences) / len(differences), "mismatch_max": max(differences),
              "drift_means": [sum(apart.get(age, [0])) / len(apart.get(age, [0])) for age in range(1, 5)],
              "grad_norm": grad_norm}
    return report, gradients


def adamw(weights, epsilon):
    matrices = [w for w in weights.values() if w.dim() > 1]
    vectors = [w for w in weights.values() if w.dim() == 1]
    groups = [{"params": matrices, "weight_decay": OPTIONS["weight_decay"]},
              {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=OPTIONS["learning_rate"], betas=(0.9, 0.999), eps=epsilon)


def run_scenario(name, scenario, initial):
    options = OPTIONS | scenario
    weights = {n: t.clone().requires_grad_() for n, t in initial.items()}
    optimizer = adamw(weights, options["epsilon"])
    batches, reports = [], []
    for version in range(scenario["updates"]):
        with torch.no_grad():
            batches.append(make_batch(weights, version, older_versions=version > 0, seed=100 + version))
        report, gradients = update(weights, optimizer, batches[-1], version, initial, options)
        reports.append(report)
    tensors = {"gradient." + n: g.float() for n, g in gradients.items()}
    tensors |= {"weight." + n: w.detach().float() for n, w in weights.items()}
    save_tensors(tensors, FOLDER / f"{name}.safetensors")
    fixture = {"options": options, "batches": batches, "reports": reports}
    (FOLDER / f"{name}.json").write_text(json.dumps(fixture) + "\n")
    print(name, json.dumps(reports[-1]))


def optimizer_fixture():
    """AdamW alone in float32: a matrix that decays, a vector that does not, clipped gradients."""
    torch.manual_seed(5)
    weights = {"matrix": torch.randn(2, 3), "vector": torch.randn(3)}
    start = {n: w.flatten().tolist() for n, w in weights.items()}
    weights = {n: w.requires_grad_() for n, w in weights.items()}
    optimizer, steps = adamw(weights, 1e-8), []
    for step in range(5):
        rate = 0.01 / (step + 1)
        gradients = {n: torch.randn_like(w) * 10.0 ** (-step) for n, w in weights.items()}
        norm_ = math.sqrt(sum(g.double().pow(2).sum().item() for g in gradients.values()))
        for n, w in weights.items():
            w.grad = gradients[n] * min(1, 1 / norm_)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        steps.append({"learning_rate": rate, "norm": norm_,
                      "gradients": {n: g.flatten().tolist() for n, g in gradients.items()},
                      "weights": {n: w.detach().flatten().tolist() for n, w in weights.items()}})
    fixture = {"weight_decay": OPTIONS["weight_decay"], "grad_norm_max": 1, "start": start, "steps": steps}
    (FOLDER / "adamw.json").write_text(json.dumps(fixture) + "\n")


def compare_with_transformers(weights):
    try:
        from transformers import LlamaForCausalLM
    except ImportError:
        return
    model = LlamaForCausalLM.from_pretrained(FOLDER / "llama", dtype=torch.float32).eval()
    ids = [1, 5, 9, 17, 33, 40, 2]
    with torch.no_grad():
        apart = (model(torch.tensor([ids])).logits[0] - logits(weights, ids)).abs().max().item()
    print("largest difference from transformers:", apart)
    assert apart < 1e-4


def main():
    torch.set_num_threads(1)
    (FOLDER / "llama").mkdir(parents=True, exist_ok=True)
    weights = random_weights()
    save_tensors({n: w.float() for n, w in weights.items()}, FOLDER / "llama/model.safetensors")
    (FOLDER / "llama/config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    compare_with_transformers(weights)
    for name, scenario in SCENARIOS.items():
        run_scenario(name, scenario, weights)
    optimizer_fixture()


if __name__ == "__main__":
    main()
