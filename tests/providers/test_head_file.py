import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app.domain.chain import Head
from app.providers.head_file import HeadFile, HeadFileError, HeadKeyMissing, HeadLost
from app.providers.private_file import PrivateFileError

OURS, THEIRS = UUID(int=1), UUID(int=2)


def key_for(organisation: UUID, key_id: str) -> bytes | None:
    return hashlib.sha256(organisation.bytes + key_id.encode()).digest() if key_id in {"k1", "k2"} else None


def head(sequence: int, kind: str = "a") -> Head:
    return Head(sequence, hashlib.sha256(f"{kind}{sequence}".encode()).digest())


@pytest.fixture(params=[True, False], ids=["durable", "fast"])
def heads(tmp_path: Path, request: pytest.FixtureRequest) -> HeadFile:
    return HeadFile(tmp_path / "heads", key_for, request.param)


def rewrite(heads: HeadFile, **changes: Any) -> None:
    path = heads.path(OURS)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_nothing_recorded_is_none_and_makes_nothing(heads: HeadFile) -> None:
    assert heads.read(OURS) is None
    assert not heads.path(OURS).parent.exists()


def test_what_was_recorded_is_read_by_anyone_with_the_key(heads: HeadFile) -> None:
    assert heads.advance(OURS, head(3), "k1") == head(3)
    assert HeadFile(heads.path(OURS).parent, key_for).read(OURS) == head(3)
    assert heads.read(THEIRS) is None
    assert heads.path(OURS).stat().st_mode & 0o777 == 0o600
    assert heads.path(OURS).parent.stat().st_mode & 0o777 == 0o700


def test_it_never_goes_back(heads: HeadFile) -> None:
    for sequence, expected in ((2, 2), (5, 5), (5, 5), (4, 5), (1, 5), (6, 6)):
        assert heads.advance(OURS, head(sequence), "k1") == head(expected)
        assert heads.read(OURS) == head(expected)


def test_who_saw_a_later_head_believes_one_that_was_vouched_for(heads: HeadFile) -> None:
    """And no file from before that."""
    heads.advance(OURS, head(5), "k1")
    before = heads.path(OURS).read_bytes()
    heads.path(OURS).unlink()
    operator = HeadFile(heads.path(OURS).parent, key_for)
    with pytest.raises(HeadLost):
        operator.read(OURS)
    assert operator.adopt(OURS, head(3, "b"), "k1") == head(3, "b")
    vouched = heads.path(OURS).read_bytes()
    assert heads.read(OURS) == head(3, "b")
    assert heads.advance(OURS, head(4, "b"), "k1") == head(4, "b")
    for older in (before, vouched):
        heads.path(OURS).write_bytes(older)
        assert heads.read(OURS) == head(4, "b")
    # What is advanced after that stays vouched for, also where the file is gone again.
    heads.path(OURS).unlink()
    heads.advance(OURS, head(5, "b"), "k1")
    assert operator.read(OURS) == head(5, "b")


def test_the_time_that_it_was_vouched_for_is_under_the_seal(heads: HeadFile) -> None:
    heads.adopt(OURS, head(3), "k1")
    fields = json.loads(heads.path(OURS).read_text())
    for adopted in (fields["adopted"] + 1, 0, -1, 2**70, "1", None, True):
        rewrite(heads, adopted=adopted)
        with pytest.raises(HeadFileError):
            heads.read(OURS)
    rewrite(heads, adopted=fields["adopted"])
    assert heads.read(OURS) == head(3)


def test_the_key_may_rotate_between_heads(heads: HeadFile) -> None:
    heads.advance(OURS, head(1), "k1")
    heads.advance(OURS, head(2), "k2")
    assert heads.read(OURS) == head(2)


def test_another_entry_at_the_same_place_is_refused(heads: HeadFile) -> None:
    heads.advance(OURS, head(5), "k1")
    with pytest.raises(HeadFileError, match="another entry 5"):
        heads.advance(OURS, head(5, "b"), "k1")
    assert heads.read(OURS) == head(5)


CHANGES: list[dict[str, Any]] = [
    {"sequence": 4},
    {"sequence": 6},
    {"sequence": -5},
    {"sequence": 2**64},
    {"sequence": 5.0},
    {"sequence": True},
    {"sequence": "5"},
    {"mac": head(5, "b").mac.hex()},
    {"mac": ""},
    {"mac": 5},
    {"key_id": "k2"},
    {"key_id": 5},
    {"key_id": None},
    {"organisation": str(THEIRS)},
    {"organisation": "x"},
    {"organisation": None},
    {"seal": "00" * 32},
    {"seal": ""},
    {"seal": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_changed_file_is_refused_and_never_overwritten(heads: HeadFile, change: dict[str, Any]) -> None:
    heads.advance(OURS, head(5), "k1")
    rewrite(heads, **change)
    before = heads.path(OURS).read_bytes()
    with pytest.raises(HeadFileError, match=str(heads.path(OURS))) as raised:
        heads.read(OURS)
    assert not isinstance(raised.value, HeadKeyMissing)
    with pytest.raises(HeadFileError):
        heads.advance(OURS, head(9), "k1")
    assert heads.path(OURS).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"5", b"\xff", b"[" * 4000, b"x" * 10_000, b"{}"])
def test_rubbish_is_refused(heads: HeadFile, content: bytes) -> None:
    heads.advance(OURS, head(5), "k1")
    heads.path(OURS).write_bytes(content)
    with pytest.raises(HeadFileError, match=str(heads.path(OURS))):
        heads.read(OURS)


def test_the_file_of_another_organisation_does_not_serve(heads: HeadFile) -> None:
    heads.advance(THEIRS, head(5), "k1")
    shutil.copy(heads.path(THEIRS), heads.path(OURS))
    with pytest.raises(HeadFileError):
        heads.read(OURS)
    rewrite(heads, organisation=str(OURS))
    with pytest.raises(HeadFileError):
        heads.read(OURS)


@pytest.mark.parametrize("change", [{"key_id": "k2"}, {"organisation": str(THEIRS)}, {"sequence": 4}], ids=str)
def test_the_seal_holds_every_field_even_under_one_key(tmp_path: Path, change: dict[str, Any]) -> None:
    heads = HeadFile(tmp_path, lambda organisation, key_id: b"one key for all of these......32")
    heads.advance(OURS, head(5), "k1")
    rewrite(heads, **change)
    organisation = UUID(json.loads(heads.path(OURS).read_text())["organisation"])
    if organisation != OURS:
        heads.path(OURS).rename(heads.path(organisation))
    with pytest.raises(HeadFileError, match="seal does not fit"):
        heads.read(organisation)


def test_a_missing_key_is_told_apart(heads: HeadFile) -> None:
    heads.advance(OURS, head(5), "k1")
    rewrite(heads, key_id="lost")
    with pytest.raises(HeadKeyMissing):
        heads.read(OURS)
    with pytest.raises(HeadKeyMissing):
        heads.advance(THEIRS, head(1), "lost")
    assert heads.read(THEIRS) is None


def test_a_copy_that_others_may_read_still_counts(heads: HeadFile) -> None:
    heads.advance(OURS, head(5), "k1")
    heads.path(OURS).chmod(0o644)
    assert heads.read(OURS) == head(5)


def test_a_folder_that_others_may_write_is_not_written(heads: HeadFile) -> None:
    heads.advance(OURS, head(5), "k1")
    heads.path(OURS).parent.chmod(0o777)
    with pytest.raises(PrivateFileError):
        heads.advance(OURS, head(6), "k1")


@pytest.mark.parametrize("bad", [Head(-1, bytes(32)), Head(1, b"short"), Head(2**63, bytes(32))])
def test_what_is_no_head_is_not_recorded(heads: HeadFile, bad: Head) -> None:
    with pytest.raises(ValueError, match="a head has"):
        heads.advance(OURS, bad, "k1")
    assert heads.read(OURS) is None


WORKER = """
import hashlib, pathlib, sys
from uuid import UUID
from app.domain.chain import Head
from app.providers.head_file import HeadFile
key = lambda organisation, name: hashlib.sha256(organisation.bytes + name.encode()).digest()
heads = HeadFile(pathlib.Path(sys.argv[1]), key, durable=False)
last = 0
for sequence in range(int(sys.argv[2]), 400, 4):
    head = Head(sequence, hashlib.sha256(f"a{sequence}".encode()).digest())
    recorded = heads.advance(UUID(int=1), head, "k1")
    assert recorded.sequence >= max(sequence, last)
    last = recorded.sequence
    assert heads.read(UUID(int=1)).sequence >= last
"""


def test_processes_that_advance_at_once_leave_the_highest(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "heads"), str(start)]) for start in range(1, 5)
    ]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    assert HeadFile(tmp_path / "heads", key_for).read(OURS) == head(399)
