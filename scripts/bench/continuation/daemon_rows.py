"""The rows that a rollout's calls become, and why each began, from what `corisco inspect` tells of them."""
import json
import subprocess

import rows


def inspected(binary, daemon, rollout):
    """The rollout's calls in the order of their requests."""
    run = next(daemon.runs.iterdir())
    done = subprocess.run([binary, "inspect", run, str(rollout), "--json"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"the rollout {rollout} could not be inspected: {done.stdout[-500:]}{done.stderr[-500:]}")
    return sorted(json.loads(done.stdout)["calls"], key=lambda call: call["turn"])


def rows_here(calls):
    """{"rows": how many, "causes": why the later ones began}, of the tokens that the daemon recorded. Checks what it
    says of each call against them: one that goes on has its predecessor's exact tokens, another has not."""
    trained = [call for call in calls if call["state"] != "side"]
    numbers = list(rows.of_longest_match([(call["prompt_ids"], call["token_ids"]) for call in trained]).values())
    begins = [call for index, call in enumerate(trained) if numbers[index] not in numbers[:index]]
    told = [call for call in trained if call["split"] != "none"]
    if begins != told:
        raise SystemExit(f"by their tokens rows begin at the calls {[call['turn'] for call in begins]}, "
                         f"the daemon says {[(call['turn'], call['split']) for call in told]}")
    return {"rows": len(begins), "causes": [call["split"] for call in begins[1:]]}
