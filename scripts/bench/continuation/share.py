"""Replays recorded conversations in every form and counts the rows that each rollout becomes, here and by plain
exact-prefix merging; see run.sh.

usage: share.py --daemon FILE --forms FOLDER --recordings FOLDER [--only FORM,...] OUTPUT_FILE
"""
import json
import pathlib
import sys
import tempfile

import causes
import daemon_rows
import forms
import rendering
import replay
import rows
import servers


def peer(renderer, sent, calls):
    """The same of plain exact-prefix merging over prompts rendered and encoded from scratch. A side call is left
    out here too, in its favour."""
    kept = [(body, call) for body, call in zip(sent, calls) if call["state"] != "side"]
    pairs = [(renderer.ids(body["path"], body["body"]), call["token_ids"]) for body, call in kept]
    numbered = rows.of_open_row(pairs)
    found, ended, open_ids = [], [], None
    for index, row in numbered.items():
        prompt, sampled = pairs[index]
        if open_ids is not None and not rows.starts_with(prompt, open_ids):
            here = kept[index][1]["split"]
            found.append(here if here not in ("none", "first") else causes.cause_of(
                renderer.decode(open_ids), renderer.decode(prompt), [renderer.decode(ids) for ids in ended]))
            ended.append(open_ids)
        open_ids = prompt + sampled
    return {"rows": len(set(numbered.values())), "causes": found}


def measure_form(options, form, recordings, write):
    renderer = rendering.Renderer(options.forms / form)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        forms.write(form, folder / "script.jsonl")
        settings = {"model.path": options.forms / form, "engine.script": folder / "script.jsonl"}
        with servers.Daemon(options.daemon, folder, settings | forms.SETTINGS.get(form, {})) as daemon:
            for recording in recordings:
                done = replay.replay(daemon, recording)
                if done["failures"]:
                    raise SystemExit(f"{recording['task']} as {form}: {done['failures'][:2]}")
                calls = daemon_rows.inspected(options.daemon, daemon, done["rollout"])
                write({"form": form, "agent": recording["agent"], "task": recording["task"], "calls": len(calls),
                       "corisco": daemon_rows.rows_here(calls), "exact prefix": peer(renderer, done["sent"], calls)})


def main():
    parser = servers.measurement(__doc__, "forms", "recordings")
    parser.add_argument("--only", default=",".join(forms.FORMS))
    options = parser.parse_args()
    servers.exit_on_sigterm()
    recordings = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(options.recordings.glob("*.json"))]
    with open(options.output, "w", encoding="utf-8") as file:
        def write(line):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{line['task']} as {line['form']}: {line['corisco']['rows']} row(s), by exact prefix "
                  f"{line['exact prefix']['rows']}", file=sys.stderr, flush=True)
        for form in options.only.split(","):
            measure_form(options, form, recordings, write)


if __name__ == "__main__":
    main()
