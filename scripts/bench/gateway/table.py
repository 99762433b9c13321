"""The benchmark's lines as Markdown tables: medians over the repeats, ratios within each repeat.

usage: table.py RUNS_JSONL
"""
import json
import math
import statistics
import sys

BARE = "bare"


class Runs:
    """The lines of one measure, the bare server's first."""

    def __init__(self, lines, measure):
        self.lines = sorted((line for line in lines if line["measure"] == measure), key=lambda line: line["repeat"])
        names = list(dict.fromkeys(line["server"] for line in self.lines))
        self.servers = sorted(names, key=lambda name: (name != BARE, not name.startswith("gateway"), name))

    def each(self, server, field):
        return [line[field] for line in self.lines if line["server"] == server]

    def median(self, server, field):
        return statistics.median(self.each(server, field))

    def ratio(self, server, other, field):
        pairs = zip(self.each(server, field), self.each(other, field))
        return statistics.median(a / b if b else math.nan for a, b in pairs)

    def added(self, server, field):
        """Beyond what the bare server takes."""
        if server == BARE:
            return math.nan
        return statistics.median(a - b for a, b in zip(self.each(server, field), self.each(BARE, field)))

    def failures(self, server):
        total = {}
        for failed in self.each(server, "failed"):
            for status, count in failed.items():
                ending = "unfinished" if status == "0" else f"with status {status}"
                total[ending] = total.get(ending, 0) + count
        return "; ".join(f"{count} {ending}" for ending, count in total.items()) or "none"

    def table(self, columns):
        """columns: titles, each with a field's name or a function of the server's name."""
        def cell(server, column):
            return column(server) if callable(column) else self.median(server, column)
        lines = [[server, *(cell(server, column) for column in columns.values())] for server in self.servers]
        return rows(["server", *columns], lines)


def number(value):
    """Three digits that count."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent(share):
    return f"{number(100 * share)} %"


def rows(head, lines):
    cells = [head, ["---"] * len(head), *lines]
    texts = ([cell if isinstance(cell, str) else number(cell) for cell in line] for line in cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in texts)


def small_chats(lines):
    full, alone = Runs(lines, "full"), Runs(lines, "alone")
    at_once = full.table({
        "calls/s": "calls_per_second",
        "of the bare server's": lambda name: percent(full.ratio(name, BARE, "calls_per_second")),
        "the gateway does × as many": lambda name: full.ratio("gateway", name, "calls_per_second"),
        "CPU µs/call": "cpu_us_per_call",
        "server's core busy": lambda name: percent(full.median(name, "server_cores")),
        "load's core busy": lambda name: percent(full.median(name, "load_cores")),
        "bytes of a reply": "reply_bytes",
        "failed": full.failures})
    one = alone.table({
        "p50 µs": "latency_p50_us", "p99 µs": "latency_p99_us",
        "added p50 µs": lambda name: alone.added(name, "latency_p50_us"),
        "added p99 µs": lambda name: alone.added(name, "latency_p99_us"),
        "failed": alone.failures})
    return (f"### Small chats, whole replies, 32 connections\n\n{at_once}\n\nAgent Lightning's reply has the token "
            "ids and log-probabilities that it asks of its model server.\n\n"
            f"### The same, 1 connection: latency\n\n{one}")


def first_bytes(lines):
    runs = Runs(lines, "first byte")
    table = runs.table({
        "p50 µs": "first_byte_p50_us", "p99 µs": "first_byte_p99_us",
        "added p50 µs": lambda name: runs.added(name, "first_byte_p50_us"),
        "added p99 µs": lambda name: runs.added(name, "first_byte_p99_us"),
        "failed": runs.failures})
    return ("### From a streamed request to its first byte, where the first token comes at once, 1 connection\n\n"
            f"{table}\n\nAgent Lightning refuses to stream.")


def streams(lines, measure):
    runs = Runs(lines, measure)

    def came(name):
        return sum(runs.each(name, "tokens")) / sum(runs.each(name, "tokens_expected"))

    def of_tokens(field, value=runs.median):
        return lambda name: value(name, field) if came(name) > 0 else math.nan
    table = runs.table({
        "tokens/s": "tokens_per_second", "tokens that came": lambda name: percent(came(name)),
        "CPU µs/token": of_tokens("cpu_us_per_token"),
        "delay p50 µs": of_tokens("delay_p50_us"), "delay p99 µs": of_tokens("delay_p99_us"),
        "added p99 µs": of_tokens("delay_p99_us", runs.added),
        "first token's p50 µs": of_tokens("first_token_delay_p50_us"),
        "first token's p99 µs": of_tokens("first_token_delay_p99_us"),
        "bytes/token": of_tokens("bytes_per_token"), "failed": runs.failures})
    return f"### {measure} of 50 tokens a second each: how long after its step each token comes\n\n{table}"


def large(lines):
    runs = Runs(lines, "large")
    alone = next(line for line in lines if line["measure"] == "tokenise")

    def milliseconds(field):
        return lambda name: runs.median(name, field) / 1000
    table = runs.table({
        "p50 ms": milliseconds("latency_p50_us"), "p99 ms": milliseconds("latency_p99_us"),
        "CPU ms/call": milliseconds("cpu_us_per_call"), "failed": runs.failures})
    return (f"### A body of 60 kB, each another, 1 connection\n\n{table}\n\nIts message has {alone['bytes']:,} bytes "
            f"and {alone['tokens']:,} tokens; of these servers only the gateway makes tokens of it, which alone takes "
            f"{number(alone['p50_ms'])} ms (p99 {number(alone['p99_ms'])} ms).")


def held(lines):
    table = []
    for line in (line for line in lines if line["mode"] == "held"):
        def each(field, scale=1, waves=line["waves"]):
            return ", ".join(f"{wave[field] / scale:,.{0 if scale == 1 else 1}f}" for wave in waves)
        table.append([line["measure"], each("together"), each("completed"), f"{line['resident_before_bytes'] / 1e6:.1f}",
                      each("resident_peak_bytes", 1e6), line["bytes_per_connection"]])
    head = ["2,000 connections, in waves", "at one time", "completed", "MB before", "MB at most", "bytes per connection"]
    return f"### Connections at once\n\n{rows(head, table)}"


def of(lines):
    return "\n\n".join([small_chats(lines), first_bytes(lines), streams(lines, "8 streams"),
                        streams(lines, "256 streams"), large(lines), held(lines)])


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        print(of([json.loads(line) for line in file]))


if __name__ == "__main__":
    main()
