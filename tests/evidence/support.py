"""What the tests of the evidence share: events by the hundred, and the chain as it stands in the table."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import text

from app.domain.canonical import canonical
from app.domain.chain import Head, Outcome, Verdict
from app.evidence.verification import verify_chain
from app.providers.ids import new_id
from app.storage import queue
from app.storage.engine import Database

_CHAIN = text(
    "SELECT sequence, id, payload, previous_mac, mac, key_id, queued_at FROM evidence "
    "WHERE organisation_id = :organisation ORDER BY sequence"
)
_QUEUE = text("SELECT id, payload FROM attribution_queue WHERE organisation_id = :organisation ORDER BY position")


class Event(NamedTuple):
    id: UUID
    payload: bytes


class Row(NamedTuple):
    sequence: int
    id: UUID
    payload: bytes
    previous_mac: bytes
    mac: bytes
    key_id: str
    queued_at: Any

    @property
    def head(self) -> Head:
        return Head(self.sequence, self.mac)


def make_event(organisation: UUID, note: str = "", **fields: Any) -> Event:
    """A record shaped like a retrieval's, with an id of its own."""
    id = new_id()
    record = {
        "category": "context_attribution",
        "attributionId": str(id),
        "requestId": str(uuid4()),
        "organisationId": str(organisation),
        "userId": str(uuid4()),
        "spaceId": str(uuid4()),
        "note": note,
        **fields,
    }
    return Event(id, canonical(record))


async def enqueue(database: Database, organisation: UUID, count: int, note: str = "") -> list[Event]:
    """Events made durable together, in the order that is returned."""
    events = [make_event(organisation, f"{note}{number}") for number in range(count)]
    async with database.unstamped(organisation) as session:
        for event in events:
            await queue.enqueue(session, event.id, event.payload)
    return events


async def chain_of(database: Database, organisation: UUID) -> list[Row]:
    return (await both_of(database, organisation))[0]


async def queue_of(database: Database, organisation: UUID) -> list[Event]:
    return (await both_of(database, organisation))[1]


async def both_of(database: Database, organisation: UUID) -> tuple[list[Row], list[Event]]:
    """Chain and queue of one moment."""
    async with database.snapshot(organisation) as session:
        chain = [Row(*row) for row in await session.rows(_CHAIN, {"organisation": organisation})]
        return chain, [Event(*row) for row in await session.rows(_QUEUE, {"organisation": organisation})]


def assert_chained_once(rows: Sequence[Row], events: Sequence[Event]) -> None:
    """Sequences 1, 2, 3 … and each event exactly once, byte for byte."""
    assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
    assert sorted((row.id, row.payload) for row in rows) == sorted(events)


def head_of(rows: Sequence[Row]) -> Head:
    return Head(rows[-1].sequence, rows[-1].mac)


async def found(parts: Any, organisation: UUID, keys: Any = None, heads: Any = None) -> tuple[Outcome, int | None]:
    verdict = await check(parts, organisation, keys, heads)
    return verdict.verdict, verdict.first_bad_sequence


async def check(parts: Any, organisation: UUID, keys: Any = None, heads: Any = None) -> Verdict:
    return await verify_chain(parts.database, keys or parts.keys, heads or parts.heads, organisation, signed=[])
