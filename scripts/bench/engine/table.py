"""The benchmark's lines as Markdown tables: medians over the repeats, ratios within each repeat, and beside each of
our figures the share of what the machine allows.

usage: table.py RUNS_JSONL
"""
import json
import statistics
import sys

BYTES = {"float32": 4, "bfloat16": 2, "F32": 4, "F16": 2, "BF16": 2}
OURS = "corisco"
CONTEXT = 512


def rows(head, lines):
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in cells)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value):
    return "–" if value is None else f"{value:.2f}"


class Model:
    """What a forward pass must read and multiply, from the config."""

    def __init__(self, config):
        hidden, layers = config["hidden_size"], config["num_hidden_layers"]
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.query, self.kv = heads * config["head_dim"], kv_heads * config["head_dim"]
        layer = hidden * (2 * self.query + 2 * self.kv) + 3 * hidden * config["intermediate_size"]
        self.layers, self.body, self.head = layers, layers * layer, hidden * config["vocab_size"]

    def step_bytes(self, sequences, size):
        """Weights and head once, each sequence's keys and values."""
        return size * (self.body + self.head + sequences * CONTEXT * 2 * self.layers * self.kv)

    def step_operations(self, sequences):
        return sequences * 2 * (self.body + self.head + 2 * CONTEXT * self.layers * self.query)

    def prefill_operations(self, tokens):
        """Logits of the last token alone; attention over half of the square."""
        return 2 * (tokens * self.body + self.head + tokens * tokens * self.layers * self.query)


class Runs:
    def __init__(self, lines):
        self.lines = lines
        machines = [line for line in lines if line["point"] == "machine"]
        # The most that any run saw: something else may have run beside it.
        self.machine = {name: max(line[name] for line in machines) for name in ("read_1", "read_2", "product")} \
            if machines else None
        self.model = Model(machines[0]["config"]) if machines else None
        points = {line["point"] for line in lines if "repeat" in line}
        self.points = sorted(points, key=lambda point: (point.split()[0] != "prefill", int(point.split()[1])))
        self.names = list(dict.fromkeys(line["name"] for line in lines if "repeat" in line))

    def rates(self, point, name):
        return [line["tokens"] / line["seconds"] for line in self.lines
                if line["point"] == point and line.get("name") == name]

    def bound(self, point, name):
        """(tokens a second that the machine allows, what limits them)."""
        size, (kind, count) = BYTES[name.rsplit(" ", 1)[1]], point.split()
        count = int(count)
        if kind == "prefill":
            return count / (self.model.prefill_operations(count) / self.machine["product"]), "arithmetic"
        by_bytes = self.machine["read_2"] / self.model.step_bytes(count, size)
        by_operations = self.machine["product"] / self.model.step_operations(count)
        return (count * by_bytes, "bytes") if by_bytes < by_operations else (count * by_operations, "arithmetic")

    def ratio(self, point, name, other):
        pairs = zip(self.rates(point, name), self.rates(point, other))
        return statistics.median(a / b for a, b in pairs)

    def figures(self):
        lines = []
        for point in self.points:
            measured = [name for name in self.names if self.rates(point, name)]
            for name in measured:
                rate = statistics.median(self.rates(point, name))
                bound, limit = self.bound(point, name)
                ratios = [f"{self.ratio(point, ours, name):.2f}" if ours in measured else "–"
                          for ours in self.names if ours.startswith(OURS)]
                lines.append([point, name, number(rate), f"{number(bound)} ({limit})", f"{100 * rate / bound:.0f} %", *ratios])
        ours = [f"{name} does ×" for name in self.names if name.startswith(OURS)]
        return rows(["point", "engine", "tokens/s", "roofline", "reached", *ours], lines)

    def memory(self):
        lines = []
        memory = [line for line in self.lines if line["point"].startswith("memory")]
        for line in sorted(memory, key=lambda line: int(line["point"].split()[1])):
            count, after = int(line["point"].split()[1]), line["after"]
            grown = after["resident_bytes"] - line["before"]["resident_bytes"]
            cells = [count, line["name"], f"{after['resident_bytes'] / 1e6:,.0f}", f"{grown / count / 1e6:.1f}"]
            if "kv_tokens" in after:
                tokens, each = after["kv_tokens"], after["kv_bytes_per_token"]
                cells += [f"{tokens * each / count / 1e6:.1f}", f"{each:,}", f"{after['weight_bytes'] / 1e6:,.0f}"]
            lines.append(cells + ["–"] * (7 - len(cells)))
        return rows(["sequences", "engine", "MB resident", "MB grown per sequence", "MB computed per sequence",
                     "bytes per cached token", "MB of weights"], lines)

    def served(self):
        lines = [[line["name"], f"{line['requests_per_second']:.2f}", number(line["tokens_per_second"]),
                  seconds(line["first_token_p50_s"]), seconds(line["first_token_p99_s"]), len(line["failed"])]
                 for line in self.lines if line["point"] == "served"]
        return rows(["engine", "requests/s", "tokens/s", "first token p50 s", "p99 s", "failed"], lines)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        runs = Runs([json.loads(line) for line in file])
    if machine := runs.machine:
        print(f"This machine reads {machine['read_1'] / 1e9:.1f} GB/s with one thread, {machine['read_2'] / 1e9:.1f} with "
              f"two; the library's float32 product does {machine['product'] / 1e9:.0f} GFLOP/s.\n")
        print(runs.figures(), runs.memory(), sep="\n\n")
    if any(line["point"] == "served" for line in runs.lines):
        print("\n32 clients, one system prompt, 3 turns of 32 tokens each:\n\n" + runs.served())


if __name__ == "__main__":
    main()
