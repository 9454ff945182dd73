"""A superuser's connection behind the application's back, and the list of what it can do to a chain."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid4

import asyncpg

from app.domain.chain import Outcome
from app.providers.head_file import HeadFile
from tests.evidence.conftest import Office
from tests.evidence.support import Row


class Expected(NamedTuple):
    outcome: Outcome
    first_bad: int | None


VALID = Expected(Outcome.VALID, None)


def tampered(sequence: int) -> Expected:
    return Expected(Outcome.TAMPERED, sequence)


@dataclass
class Attack:
    """A superuser's connection with the triggers off, a chain under three keys, and chance."""

    connection: asyncpg.Connection
    office: Office
    organisation: UUID
    other: UUID
    rows: list[Row]
    chance: random.Random
    expected_of_other: Expected = VALID
    heads: HeadFile | None = None

    def forgetful(self) -> HeadFile:
        """The head files, as a process reads them that has just begun."""
        return HeadFile(self.office.home / "heads", self.office.keys.organisation_key)

    def restart(self) -> None:
        """The check is made by a process that has just begun."""
        self.heads = self.forgetful()

    @property
    def end(self) -> int:
        return len(self.rows)

    def place(self, first: int = 1, last: int | None = None) -> int:
        return self.chance.randint(first, self.end if last is None else last)

    def row(self, sequence: int) -> Row:
        return self.rows[sequence - 1]

    async def set(self, at: int, /, **values: object) -> None:
        for column, value in values.items():
            status = await self.connection.execute(
                f"UPDATE evidence SET {column} = $3 WHERE organisation_id = $1 AND sequence = $2",
                self.organisation,
                at,
                value,
            )
            assert status == "UPDATE 1"

    async def delete(self, condition: str = "true") -> None:
        await self.connection.execute(
            f"DELETE FROM evidence WHERE organisation_id = $1 AND {condition}", self.organisation
        )

    async def insert(self, organisation: UUID, sequence: int, row: Row, **changes: object) -> None:
        """A copy of `row`, at another place and under another id."""
        copy = row._replace(sequence=sequence, id=uuid4())._replace(**changes)
        await self.connection.execute(
            "INSERT INTO evidence (organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            organisation,
            *copy,
        )

    def flipped(self, data: bytes) -> bytes:
        changed = bytearray(data)
        changed[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        return bytes(changed)


Edit = Callable[[Attack], Awaitable[Expected]]
EDITS: dict[str, Edit] = {}


def edit(function: Edit) -> Edit:
    EDITS[function.__name__] = function
    return function
