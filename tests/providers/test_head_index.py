"""Who ever had a head: said once, for all processes, and not unsaid by a crash or a lost key."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app.domain.chain import EMPTY, Head
from app.providers.head_file import HeadFile, HeadLost
from app.providers.head_index import HeadIndex

KEYS = {"k1": b"1" * 32, "k2": b"2" * 32}


def key_for(organisation: UUID, key_id: str) -> bytes | None:
    return KEYS.get(key_id)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "heads.index"


def test_what_one_process_says_the_others_know(path: Path) -> None:
    ours, theirs = uuid4(), uuid4()
    one, other = HeadIndex(path, key_for), HeadIndex(path, key_for)
    assert not other.holds(ours)
    one.add(ours, "k1")
    one.add(ours, "k2")
    assert other.holds(ours)
    assert not other.holds(theirs)
    other.add(theirs, "k1")
    other.add(ours, "k1")
    assert len([line for line in path.read_text().splitlines() if line]) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_a_crash_cut_off_hides_no_other(path: Path) -> None:
    ours, theirs = uuid4(), uuid4()
    HeadIndex(path, key_for).add(ours, "k1")
    with path.open("ab") as file:
        file.write(f"\n{uuid4()} k1 00".encode()[:30])
    HeadIndex(path, key_for).add(theirs, "k1")
    index = HeadIndex(path, key_for)
    assert index.holds(ours)
    assert index.holds(theirs)


def test_a_line_that_was_made_up_does_not_count_and_one_of_a_lost_key_does(path: Path) -> None:
    ours, theirs, third = uuid4(), uuid4(), uuid4()
    HeadIndex(path, key_for).add(ours, "k1")
    seal = path.read_text().split()[2]
    with path.open("a") as file:
        file.write(f"{theirs} k1 {seal}\n{third} k9 {seal}\n")
    index = HeadIndex(path, key_for)
    assert index.holds(ours)
    assert not index.holds(theirs)
    assert index.holds(third)


def test_nothing_is_said_without_the_key(path: Path) -> None:
    with pytest.raises(LookupError):
        HeadIndex(path, key_for).add(uuid4(), "k9")
    assert not path.exists()


def test_a_removed_head_is_lost_and_a_remembered_one_is_not(tmp_path: Path) -> None:
    organisation, head = uuid4(), Head(3, b"m" * 32)
    heads = HeadFile(tmp_path / "heads", key_for)
    assert heads.begin(organisation, "k1") == EMPTY
    heads.advance(organisation, head, "k1")
    heads.path(organisation).unlink()
    assert heads.read(organisation) == head
    later = HeadFile(tmp_path / "heads", key_for)
    with pytest.raises(HeadLost):
        later.read(organisation)
    assert later.advance(organisation, head, "k1") == head
    assert later.read(organisation) == head
    assert later.read(uuid4()) is None
