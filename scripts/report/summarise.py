"""Held-out reward before and after training, per seed and per kind, with paired bounds; and the curves.

usage: summarise.py [--svg FILE] [--control RUN_FOLDER] RUN_FOLDER...

The bound is the 2.5th percentile of the mean difference over tasks drawn again (paired bootstrap): each
task is compared with itself, so that easy and hard tasks do not blur the difference.
"""
import argparse
import random

import run_files
import svg_curve

DRAWS = 4000


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def mean(values):
    return sum(values) / len(values)


def paired(before, after):
    """Differences of the tasks that both evaluations have, by task id."""
    first, last = run_files.rewards_by_task(before), run_files.rewards_by_task(after)
    tasks = sorted(first.keys() & last.keys())
    return first, last, {task: last[task] - first[task] for task in tasks}


def lower_bound(differences, seed=1):
    draw, values = random.Random(seed), list(differences)
    return percentile([mean(draw.choices(values, k=len(values))) for _ in range(DRAWS)], 0.025)


def summary_line(name, before, after):
    first, last, difference = paired(before, after)
    values = list(difference.values())
    return (f"{name}: held-out reward {mean([first[t] for t in difference]):.2f} -> "
            f"{mean([last[t] for t in difference]):.2f}, difference {mean(values):+.2f}, "
            f"paired 95 % lower bound {lower_bound(values):+.2f}, {len(values)} tasks")


def kind_table(runs):
    """Mean over the runs, one line per kind."""
    sums = {}
    for before, after in runs:
        kinds = run_files.kinds_by_task(before)
        first, last, difference = paired(before, after)
        for task in difference:
            entry = sums.setdefault(kinds[task], [0.0, 0.0, 0])
            entry[0] += first[task]
            entry[1] += last[task]
            entry[2] += 1
    lines = ["| kind | before | after | difference |", "|---|---|---|---|"]
    for kind, (first, last, n) in sums.items():
        lines.append(f"| {kind} | {first / n:.2f} | {last / n:.2f} | {(last - first) / n:+.2f} |")
    return "\n".join(lines)


def examples(before, after, number=3):
    """The same tasks' replies before and after, of kinds spread over the list."""
    last = {(r["task"]["id"], r.get("repeat", 0)): r for r in after}
    step = max(1, len(before) // number)
    for rollout in before[step // 2::step][:number]:
        later = last.get((rollout["task"]["id"], rollout.get("repeat", 0)))
        if later is None:
            continue
        print(f"\n{rollout['task']['turns'][-1]}")
        for word, one in (("before", rollout), ("after ", later)):
            replies = " / ".join(call["reply"].replace("\n", "\\n") for call in one["calls"])
            print(f"  {word} {run_files.reward_of(one)}  {replies}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", help="write the reward curves there")
    parser.add_argument("--control", help="run folder of the arm with rewards dealt out at random")
    parser.add_argument("folders", nargs="+", metavar="RUN_FOLDER")
    arguments = parser.parse_args()
    runs = [run_files.before_and_after(folder) for folder in arguments.folders]
    for folder, (before, after) in zip(arguments.folders, runs):
        print(summary_line(folder, before, after))
    pooled = [d for before, after in runs for d in paired(before, after)[2].values()]
    print(f"all seeds: difference {mean(pooled):+.2f}, paired 95 % lower bound {lower_bound(pooled):+.2f}")
    if arguments.control:
        print(summary_line("control " + arguments.control, *run_files.before_and_after(arguments.control)))
    print("\n" + kind_table(runs))
    examples(*runs[0])
    if arguments.svg:
        curves = {folder: run_files.update_curve(folder) for folder in arguments.folders}
        if arguments.control:
            curves["control"] = run_files.update_curve(arguments.control)
        with open(arguments.svg, "w", encoding="utf-8") as file:
            file.write(svg_curve.draw(curves, x_title="update", y_title="mean reward of the rollouts"))


if __name__ == "__main__":
    main()
