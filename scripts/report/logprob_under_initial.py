"""Mean log-probability per token, under the initial model, of the replies before and after training.

usage: logprob_under_initial.py MODEL_FOLDER RUN_FOLDER...

A fall of more than 1 nat on a kind that does not dictate spelling would say that the reward was bought
with bad text. Needs torch and transformers, which the daemon and its tests do not: use any environment
that has them. Tokens are the recorded ids, so nothing is encoded again.
"""
import os
import sys

import torch
from transformers import AutoModelForCausalLM

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_files  # noqa: E402

SPELLING_KINDS = {"lowercase", "capitals", "again_lowercase"}
FALL_MAX = 1.0   # nats per token


@torch.no_grad()
def reply_logprob(model, call):
    """(sum over the reply's tokens, their number)"""
    prompt, reply = call["prompt_ids"], call["token_ids"]
    logits = model(input_ids=torch.tensor([prompt + reply])).logits[0, len(prompt) - 1:-1]
    logprobs = torch.log_softmax(logits.float(), -1).gather(1, torch.tensor(reply)[:, None])
    return logprobs.sum().item(), len(reply)


def by_kind(model, rollouts):
    sums = {}
    for rollout in rollouts:
        entry = sums.setdefault(rollout["task"]["kind"], [0.0, 0])
        for call in rollout["calls"]:
            total, count = reply_logprob(model, call)
            entry[0] += total
            entry[1] += count
    return sums


def per_token(sums, kinds):
    return sum(sums[k][0] for k in kinds) / max(1, sum(sums[k][1] for k in kinds))


def report(folder, model):
    before, after = (by_kind(model, rollouts) for rollouts in run_files.before_and_after(folder))
    print(f"{folder}\n| kind | before | after | difference |\n|---|---|---|---|")
    for kind in before:
        first, last = per_token(before, [kind]), per_token(after, [kind])
        print(f"| {kind} | {first:.2f} | {last:.2f} | {last - first:+.2f} |")
    plain = [kind for kind in before if kind not in SPELLING_KINDS]
    difference = per_token(after, plain) - per_token(before, plain)
    print(f"kinds that do not dictate spelling: {difference:+.2f} nats per token, "
          f"{-FALL_MAX:+.2f} or more is wanted")
    return difference >= -FALL_MAX


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
    results = [report(folder, model) for folder in sys.argv[2:]]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
