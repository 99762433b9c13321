"""A sample of the calls of a checkpoint's saving, each the daemon's last one or one that fails. All of them:
checkpoint_faults.py."""
import checkpoint_faults
import pytest


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    sweep = checkpoint_faults.FaultSweep(tmp_path_factory.mktemp("faults"))
    sweep.reference()
    return sweep


def numbers(sweep, name, path_part, occurrence=0):
    found = [number for number, (call, path) in enumerate(sweep.calls, 1) if call == name and path_part in path]
    return found[occurrence]


def test_every_kind_of_call_is_seen(sweep):
    assert {name for name, _ in sweep.calls} >= {"mkdir", "open", "write", "fsync", "rename", "unlink"}


# tmp-4: the save of version 4, between those of versions 2 and 5.
@pytest.mark.parametrize("kind,name,path_part,occurrence", [
    ("kill", "write", "tmp-4-", 10), ("half", "write", "tmp-4-", 30), ("kill", "fsync", "tmp-4-", 0),
    ("kill", "rename", "manifest.json", 1), ("kill", "rename", "/step-", 1), ("kill", "unlink", "tmp-step-000002", 0),
    ("ENOSPC", "write", "tmp-4-", 5), ("EIO", "fsync", "tmp-4-", -1), ("EIO", "rename", "/step-", 1),
    ("ENOSPC", "write", "tmp-5-", 5)])
def test_the_newest_whole_checkpoint_is_found_after(sweep, kind, name, path_part, occurrence):
    number = numbers(sweep, name, path_part, occurrence)
    assert sweep.point(number, kind) == []
