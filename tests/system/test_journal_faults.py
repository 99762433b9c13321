"""The journal on a disk that is full, and while its old content is removed: ended or failed at every call."""
import errno
import os
import shutil
import struct
import time

import checkpoint_faults
import kill_sweep
import pytest
from daemon import run, updates_of
from test_journal import frames_of

UPDATE_RECORD = 7
HEAD_BYTES = 21   # of a record
TEN_DAYS = 10 * 86400
# What a record may lose when it is old: an opening its task, a call its tokens and texts, an end its note.
MAY_SHRINK = [2, 4, 6]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return checkpoint_faults.compile_shim(tmp_path_factory.mktemp("shim"))


class Lives:
    """Processes of one run, each with its faults."""

    def __init__(self, folder, config, library):
        self.folder, self.config, self.library = folder, config, library
        self.run_folder = folder / "runs/tiny"

    def live(self, *arguments, **faults):
        """(exit status, output)."""
        environment = {f"CORISCO_FAULT_{name}": str(value) for name, value in faults.items()}
        environment |= {"LD_PRELOAD": str(self.library)} if faults else {}
        life = kill_sweep.Life(self.folder, self.config, self.run_folder, arguments, environment)
        return life.end(), life.text()


@pytest.fixture(scope="module")
def undisturbed(model, library, tmp_path_factory):
    """The picture of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    lives = Lives(folder, kill_sweep.tiny_run(folder, model), library)
    status, text = lives.live()
    assert status == 0, text
    return kill_sweep.picture(lives.run_folder)


# A call whose record comes while the disk is full is refused, and its harness asks again: such a run need not end
# with the undisturbed one's weights.
def test_an_updates_record_that_found_no_room_is_written_later(model, library, tmp_path):
    lives = Lives(tmp_path, kill_sweep.tiny_run(tmp_path, model), library)
    status, text = lives.live(PATH="journal.bin", RECORD=UPDATE_RECORD, AT=1, TIMES=2, KIND=errno.ENOSPC)
    assert status == 0, text
    assert os.strerror(errno.ENOSPC) in text and "the journal can be written again" in text, text
    assert kill_sweep.account_problems(lives.run_folder) == []
    status, text = lives.live("--set", "run.updates=6")
    assert status == 0 and "may be trained once more" not in text, text
    assert [line["update"] for line in updates_of(lives.run_folder)] == [1, 2, 3, 4, 5, 6]


def test_a_disk_that_stays_full_ends_the_run_with_its_last_good_checkpoint(model, library, undisturbed, tmp_path):
    lives = Lives(tmp_path, kill_sweep.tiny_run(tmp_path, model), library)
    # The records of updates 1 and 2 and of the checkpoint of version 2 are written, that of update 3 never.
    status, text = lives.live(PATH="journal.bin", RECORD=UPDATE_RECORD, AT=4, TIMES=10 ** 6, KIND=errno.ENOSPC)
    assert status == 1, text
    assert "the journal lacks what the run did last" in text or "the journal cannot keep" in text, text
    assert [folder.name for folder in lives.run_folder.glob("checkpoints/step-*")] == ["step-000002"], text
    status, text = lives.live()
    assert status == 0, text
    assert kill_sweep.differences(undisturbed, kill_sweep.picture(lives.run_folder)) == []
    assert kill_sweep.account_problems(lives.run_folder) == []


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >> 8)
    return crc ^ 0xffffffff


def crc_of_byte(value):
    for _ in range(8):
        value = (value >> 1) ^ (0x82f63b78 if value & 1 else 0)
    return value


CRC_TABLE = [crc_of_byte(value) for value in range(256)]


def make_old(journal):
    """Its records as if they had been written ten days ago."""
    journal = bytearray(journal)
    for offset, length, _ in frames_of(journal):
        struct.pack_into("<I", journal, offset + 17, int(time.time()) - TEN_DAYS)
        summed = journal[offset:offset + 4] + journal[offset + 8:offset + length]
        struct.pack_into("<I", journal, offset + 4, crc32c(summed))
    return bytes(journal)


class Removals:
    """Copies of a run whose journal is old, gone on with under samples.retention_days."""
    ARGUMENTS = ["--set", "samples.retention_days=1", "--set", "run.updates=3"]

    def __init__(self, folder, model, library):
        self.folder, self.library = folder, library
        config = kill_sweep.tiny_run(folder, model, trainer__checkpoint_every=1, run__updates=2)
        self.before = Lives(folder, config, library)
        status, text = self.before.live()
        assert status == 0, text
        path = self.before.run_folder / "journal.bin"
        self.old = make_old(path.read_bytes())
        path.write_bytes(self.old)
        self.num_copies = 0
        undisturbed = self.copy()
        status, text = undisturbed.live(*self.ARGUMENTS, PATH="journal.bin.new", LOG=undisturbed.folder / "calls")
        assert status == 0 and "records lost their content" in text, text
        assert self.troubles(undisturbed) == []
        self.expected = kill_sweep.picture(undisturbed.run_folder)
        self.calls = [line.split(" ", 2)[1] for line in (undisturbed.folder / "calls").read_text().splitlines()]

    def copy(self):
        """The same run in another place; its config names the first one's tasks."""
        self.num_copies += 1
        folder = self.folder / f"copy-{self.num_copies}"
        folder.mkdir()
        shutil.copytree(self.folder / "runs", folder / "runs")
        text = self.before.config.read_text().replace(str(self.folder / "runs"), str(folder / "runs"))
        config = folder / "config.yaml"
        config.write_text(text)
        return Lives(folder, config, self.library)

    def kept(self, lives):
        """Of each old record: its bytes then, and those of the record with its number now."""
        journal = (lives.run_folder / "journal.bin").read_bytes()
        found = {struct.unpack_from("<Q", journal, at + 9)[0]: journal[at:at + size]
                 for at, size, _ in frames_of(journal)}
        for at, size, record_type in frames_of(self.old):
            sequence, = struct.unpack_from("<Q", self.old, at + 9)
            yield sequence, record_type, self.old[at:at + size], found.get(sequence, b"")

    def troubles(self, lives):
        """Of what the old journal held: what is neither there nor without its old content, in words."""
        words = []
        for sequence, record_type, then, now in self.kept(lives):
            is_shorter = len(now) < len(then) and record_type in MAY_SHRINK
            if now != then and not (is_shorter and now[8:HEAD_BYTES] == then[8:HEAD_BYTES]):
                words.append(f"record {sequence} of type {record_type} was {len(then)} bytes, is {len(now)}")
        return words

    def has_lost_content(self, lives):
        return all(len(now) < len(then) for _, kind, then, now in self.kept(lives) if kind == MAY_SHRINK[1])


@pytest.fixture(scope="module")
def removals(model, library, tmp_path_factory):
    return Removals(tmp_path_factory.mktemp("removals"), model, library)


def points():
    return [*[("kill", at) for at in range(7)], ("half", 3), ("ENOSPC", 2), ("ENOSPC", 3), ("EIO", 4), ("EIO", 5),
            ("EIO", 6)]


def test_the_points_are_all_calls_of_a_removal(removals):
    # What the daemon wrote meanwhile is one more write, if it wrote anything.
    others = [call for call in removals.calls if call != "write"]
    assert others == ["unlink", "unlink", "open", "fsync", "fsync", "rename"]
    assert removals.calls[3] == "write"


@pytest.mark.parametrize("kind,at", points())
def test_a_removal_that_is_cut_short_loses_nothing(removals, kind, at):
    lives = removals.copy()
    is_death = kind in ("kill", "half")
    status, text = lives.live(*removals.ARGUMENTS, PATH="journal.bin.new", AT=at + 1,
                              KIND=kind if is_death else getattr(errno, kind))
    assert status == (-9 if is_death else 0), text
    assert removals.troubles(lives) == []
    if not is_death:
        assert "old content stays in the journal" in text and os.strerror(getattr(errno, kind)) in text, text
    status, text = run(lives.folder, "inspect", lives.run_folder, "--json")
    assert status == 0, text
    if is_death:
        status, text = lives.live(*removals.ARGUMENTS)
        assert status == 0, text
    assert kill_sweep.differences(removals.expected, kill_sweep.picture(lives.run_folder)) == []
    status, text = lives.live(*removals.ARGUMENTS, "--set", "run.updates=4")   # a day later, as it were
    assert status == 0 and removals.troubles(lives) == [], text
    assert not (lives.run_folder / "journal.bin.new").exists()
    assert removals.has_lost_content(lives)
