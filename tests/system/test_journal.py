"""The journal of real runs: its modes, and a damaged one repaired and gone on with."""
import json
import os
import stat
import struct

from daemon import run, updates_of
from test_training import training


def frames_of(journal):
    """(offset, length, type) of each record, by their lengths alone."""
    run_id_bytes, = struct.unpack_from("<I", journal, 12)
    at, frames = 16 + run_id_bytes + 4, []
    while at < len(journal):
        payload_bytes, = struct.unpack_from("<I", journal, at)
        frames.append((at, 21 + payload_bytes, journal[at + 8]))
        at += 21 + payload_bytes
    return frames


def test_a_damaged_journal_is_refused_repaired_and_gone_on_with(model, tmp_path):
    config = training(tmp_path, model, run__updates=2, trainer__checkpoint_every=1)
    assert run(tmp_path, "serve", config)[0] == 0
    path = tmp_path / "runs" / "tiny" / "journal.bin"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    journal = bytearray(path.read_bytes())
    deliveries = [frame for frame in frames_of(journal) if frame[2] == 5]
    offset, length, _ = deliveries[len(deliveries) // 2]
    journal[offset + length - 1] ^= 1
    path.write_bytes(journal)
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=3", "--accept-changes")
    assert status == 2 and f"damaged at offset {offset}," in output and "corisco repair" in output, output
    assert path.read_bytes() == journal
    status, output = run(tmp_path, "repair", "tiny")
    assert status == 0 and "lost 1 records" in output and f"first at offset {offset}" in output, output
    assert (path.parent / "journal.bin.damaged").read_bytes() == journal
    status, output = run(tmp_path, "repair", "tiny")
    assert status == 0 and "not damaged" in output
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "run.updates=3", "--accept-changes")
    assert status == 0, output
    assert [line["update"] for line in updates_of(path.parent)] == [1, 2, 3]


def test_strict_keeps_the_same_and_off_keeps_nothing(model, tmp_path):
    config = training(tmp_path, model, run__updates=1)
    for number, durability in enumerate(("normal", "strict", "off"), 1):
        status, output = run(tmp_path, "serve", config, "--set", f"samples.durability={durability}")
        assert status == 0, output
        folder = tmp_path / "runs" / ("tiny" if number == 1 else f"tiny-{number}")
        assert (folder / "journal.bin").exists() == (durability != "off")
        if durability != "off":
            status, output = run(tmp_path, "inspect", folder, "--json")
            assert status == 0 and json.loads(output)["accounts"]["trained"]["calls"] == 8
    status, output = run(tmp_path, "serve", config, "--resume", "--set", "samples.durability=off")
    assert status == 2 and "--resume needs the journal" in output and "samples.durability is off" in output
    status, output = run(tmp_path, "serve", config, "--resume")
    assert status == 2 and "has checkpoints but no journal.bin" in output, output
