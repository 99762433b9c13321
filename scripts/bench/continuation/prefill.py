"""How many prompt tokens the engine computes in each call of a conversation of 20 turns on the real model, and
how that depends on the size of its KV blocks.

usage: prefill.py --daemon FILE --model FOLDER OUTPUT_FILE
"""
import json
import pathlib
import random
import sys
import tempfile

import cost
import servers

TURNS, MESSAGE_WORDS, REPLY_TOKENS = 20, 40, 6
PROMPT, REUSED = "corisco_engine_prompt_tokens_total", "corisco_engine_prompt_tokens_reused_total"


def turn(daemon, rollout, messages):
    """The reply's message and its usage."""
    path = "/" + rollout["base_url"].split("/", 3)[3] + "/chat/completions"
    body = {"model": "policy", "messages": messages, "max_tokens": REPLY_TOKENS}
    status, raw = servers.request(daemon.port, "POST", path, body, {"Authorization": f"Bearer {rollout['api_key']}"})
    if status != 200:
        raise SystemExit(f"{status} {raw[:500]}")
    whole = json.loads(raw)
    return whole["choices"][0]["message"]["content"], whole["usage"]


def run(options, block_tokens, write):
    source, messages, covered = random.Random(1), [], 0
    with tempfile.TemporaryDirectory() as folder:
        settings = {"model.path": options.model, "model.threads": 1, "engine.block_tokens": block_tokens,
                    "engine.kv_memory_mb": 256}
        with servers.Daemon(options.daemon, pathlib.Path(folder), settings) as daemon:
            rollout = daemon.open_rollout("prefill")
            for number in range(1, TURNS + 1):
                messages.append({"role": "user", "content": cost.words(source, MESSAGE_WORDS)})
                before = daemon.metrics()
                content, usage = turn(daemon, rollout, messages)
                after = daemon.metrics()
                messages.append({"role": "assistant", "content": content})
                prompt, reused = (after[name] - before[name] for name in (PROMPT, REUSED))
                write({"block_tokens": block_tokens, "turn": number, "prompt": prompt, "computed": prompt - reused,
                       "tail": prompt - covered})
                covered = prompt + usage["completion_tokens"]


def main():
    options = servers.measurement(__doc__, "model").parse_args()
    servers.exit_on_sigterm()
    with open(options.output, "w", encoding="utf-8") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")
            file.flush()
        for block_tokens in (1, 16, 64):
            print(f"blocks of {block_tokens}", file=sys.stderr, flush=True)
            run(options, block_tokens, write)


if __name__ == "__main__":
    main()
