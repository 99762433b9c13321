"""The benchmark's lines as Markdown tables: medians over the repeats, ratios within each repeat.

usage: table.py RUNS_JSONL
"""
import json
import math
import statistics
import sys

GATEWAYS = ("gateway", "gateway at 50", "gateway with tokenizer")


class Runs:
    """The lines of one measure."""

    def __init__(self, lines, measure):
        self.lines = [line for line in lines if line["measure"] == measure]
        self.servers = list(dict.fromkeys(line["server"] for line in sorted(self.lines, key=lambda line: line["server"] != "bare")))
        self.gateway = next((name for name in self.servers if name in GATEWAYS), None)

    def each(self, server, field):
        return [line[field] for line in sorted(self.lines, key=lambda line: line["repeat"]) if line["server"] == server]

    def median(self, server, field):
        return statistics.median(self.each(server, field))

    def ratio(self, server, other, field):
        pairs = zip(self.each(server, field), self.each(other, field))
        return statistics.median(a / b if b else math.nan for a, b in pairs)

    def added(self, server, field):
        """Beyond what the bare server takes."""
        return statistics.median(a - b for a, b in zip(self.each(server, field), self.each("bare", field)))

    def failures(self, server):
        total = {}
        for failed in self.each(server, "failed"):
            for status, count in failed.items():
                total[status] = total.get(status, 0) + count
        return "; ".join(f"{count} with status {status}" if status != "0" else f"{count} unfinished" for status, count in total.items()) or "none"


def number(value):
    """Three digits that count."""
    if value != value:
        return "–"
    magnitude = abs(value)
    return f"{value:,.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}"


def rows(head, lines):
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) if isinstance(cell, str) else number(cell) for cell in line) + " |" for line in cells)


def small_chats(lines):
    full, alone = Runs(lines, "full"), Runs(lines, "alone")
    table = [[name, full.median(name, "calls_per_second"), full.ratio(name, "bare", "calls_per_second"),
              full.ratio(full.gateway, name, "calls_per_second"), full.median(name, "cpu_us_per_call"), full.median(name, "server_cores"),
              full.median(name, "load_cores"), alone.median(name, "latency_p50_us"), alone.median(name, "latency_p99_us"),
              alone.added(name, "latency_p50_us"), alone.added(name, "latency_p99_us"), full.failures(name)] for name in full.servers]
    bytes_each = ", ".join(f"{name} {full.median(name, 'reply_bytes'):.0f}" for name in full.servers)
    head = ["server", "calls/s", "of the bare server's", "gateway is × as fast", "CPU µs/call", "server's core busy", "load's core busy",
            "alone: p50 µs", "p99 µs", "added p50 µs", "added p99 µs", "failed"]
    return f"### Small chats, whole replies: 32 connections; alone: 1 connection\n\n{rows(head, table)}\n\nBytes of a reply: {bytes_each}."


def first_bytes(lines):
    runs = Runs(lines, "first byte")
    table = [[name, runs.median(name, "first_byte_p50_us"), runs.median(name, "first_byte_p99_us"), runs.added(name, "first_byte_p50_us"),
              runs.failures(name)] for name in runs.servers]
    head = ["server", "p50 µs", "p99 µs", "added p50 µs", "failed"]
    return f"### From a streamed request to its first byte, the token being there at once: 1 connection\n\n{rows(head, table)}"


def streams(lines, measure):
    runs = Runs(lines, measure)
    table = [[name, runs.median(name, "tokens_per_second"),
              f"{100 * sum(runs.each(name, 'tokens')) / sum(runs.each(name, 'tokens_expected')):.0f} %", runs.median(name, "cpu_us_per_token"),
              runs.median(name, "delay_p50_us"), runs.median(name, "delay_p99_us"), runs.added(name, "delay_p99_us"),
              runs.median(name, "first_token_delay_p50_us"), runs.median(name, "first_token_delay_p99_us"),
              runs.median(name, "bytes_per_token"), runs.failures(name)] for name in runs.servers]
    head = ["server", "tokens/s", "tokens in time", "CPU µs/token", "delay p50 µs", "p99 µs", "added p99 µs", "first token: p50 µs", "p99 µs",
            "bytes/token", "failed"]
    return f"### {measure} of 50 tokens a second each: how long after its step each token comes\n\n{rows(head, table)}"


def large(lines):
    runs = Runs(lines, "large")
    alone = next(line for line in lines if line["measure"] == "tokenise")
    table = [[name, runs.median(name, "latency_p50_us") / 1000, runs.median(name, "latency_p99_us") / 1000,
              runs.median(name, "cpu_us_per_call") / 1000, runs.failures(name)] for name in runs.servers]
    table.append(["tokenisation alone", alone["p50_ms"], alone["p99_ms"], "", ""])
    head = ["server", "p50 ms", "p99 ms", "CPU ms/call", "failed"]
    return (f"### A body of 60 kB, each another: 1 connection\n\n{rows(head, table)}\n\nThe message has {alone['bytes']:,} bytes and "
            f"{alone['tokens']:,} tokens; of these servers the gateway alone makes tokens of it.")


def held(lines):
    table = []
    for measure in ("held", "streaming"):
        for line in (line for line in lines if line["measure"] == measure):
            waves = line["waves"]
            completed = ", ".join(f"{wave['completed']}" for wave in waves)
            together = ", ".join(f"{wave['together']}" for wave in waves)
            peaks = ", ".join(f"{wave['resident_peak_bytes'] / 1e6:.1f}" for wave in waves)
            table.append([measure, together, completed, f"{line['resident_before_bytes'] / 1e6:.1f}", peaks, line["bytes_per_connection"]])
    head = ["2,000 connections", "at one time, each wave", "completed", "MB before", "MB at most, each wave", "bytes per connection"]
    return f"### Connections at once\n\n{rows(head, table)}"


def of(lines):
    parts = [small_chats(lines), first_bytes(lines), streams(lines, "8 streams"), streams(lines, "256 streams"), large(lines), held(lines)]
    return "\n\n".join(parts)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        print(of([json.loads(line) for line in file]))


if __name__ == "__main__":
    main()
