"""A key ring and head files of a test's own, where what happens to them is the test."""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app.evidence.sequencer import Sequencer
from app.providers.head_file import HeadFile
from app.providers.keyring import KeyRing
from app.storage.engine import Database
from tests.memory.conftest import memory

__all__ = ["memory"]


@dataclass(frozen=True)
class Office:
    """One organisation with its own keys and head files; tests break them as they like."""

    database: Database
    home: Path
    organisation: UUID
    keys: KeyRing
    heads: HeadFile
    sequencer: Sequencer

    async def drain(self) -> int:
        chained = 0
        while count := await self.sequencer.turn(self.organisation):
            chained += count
        return chained


@pytest.fixture
def office(database: Database, tmp_path: Path) -> Office:
    keys = KeyRing.load_or_create(tmp_path / "keys" / "evidence.json")
    heads = HeadFile(tmp_path / "heads", keys.organisation_key)
    return Office(database, tmp_path, uuid4(), keys, heads, Sequencer(database, keys, heads))
