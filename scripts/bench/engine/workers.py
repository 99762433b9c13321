"""The programs that are compared: each waits on its standard input while another is measured."""
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TAIL = 2000
# As the daemon sets it for itself; the peers run as their makers leave them.
OURS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


class Worker:
    """A worker of worker.cc's protocol."""

    def __init__(self, name, command, folder):
        self.name = name
        self.log = folder / f"{name.replace(' ', '-')}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=log, text=True,
                                            env=os.environ | (OURS if name.startswith("corisco") else {}))

    def answer(self):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"it ended: {self.log.read_text()[-TAIL:]}"}
        if "error" in answer:
            raise SystemExit(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, op, **arguments):
        self.process.stdin.write(json.dumps({"op": op} | arguments) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def commands(options):
    """{name: command} of what is to be compared."""
    ours = {f"corisco {dtype}": [options.program, options.model, dtype, options.threads] for dtype in options.dtypes}
    python = options.python
    if python is None:
        return ours
    for dtype in options.dtypes if options.peer_dtypes is None else options.peer_dtypes:
        ours[f"transformers {dtype}"] = [python, HERE / "peer_transformers.py", options.model, dtype, options.threads]
    for kind in options.gguf:
        ours[f"llama.cpp {kind}"] = [python, HERE / "peer_llama.py", options.folder / f"model-{kind}.gguf", options.threads]
    return ours


def convert(options):
    """The GGUF files that llama.cpp reads, from the same numbers; kept."""
    for kind in options.gguf if options.python else ():
        path = options.folder / f"model-{kind}.gguf"
        if not path.exists():
            subprocess.run([options.python, HERE / "convert_gguf.py", options.model, kind, path], check=True)
