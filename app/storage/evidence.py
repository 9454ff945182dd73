"""The chained evidence: appended by the sequencer, streamed by the verifier, looked up by those who may see it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.chain import EMPTY, Entry, Head
from app.storage.engine import Session
from app.storage.record_fields import columns, field
from app.storage.scope import tenant

# One sequencer an organisation at a time; the others pass on.
_LOCK = text("SELECT pg_try_advisory_xact_lock(hashtextextended(CAST(:organisation AS text), 7))")
_HEAD = text(f"SELECT e.sequence, e.mac FROM evidence e WHERE {tenant('e')} ORDER BY e.sequence DESC LIMIT 1")
_APPEND = text(
    "INSERT INTO evidence (organisation_id, sequence, id, payload, previous_mac, mac, key_id, queued_at) "
    "SELECT :organisation, * FROM unnest(CAST(:sequences AS bigint[]), CAST(:ids AS uuid[]), "
    "CAST(:payloads AS bytea[]), CAST(:previous_macs AS bytea[]), CAST(:macs AS bytea[]), CAST(:key_ids AS text[]), "
    "CAST(:queued_at AS timestamptz[]))"
)


async def try_lock(session: Session) -> bool:
    """Become the organisation's sequencer until the transaction ends; False when another process is."""
    return bool(await session.value(_LOCK, {"organisation": str(session.organisation)}))


_WAIT = text("SELECT pg_advisory_xact_lock(hashtextextended(CAST(:organisation AS text), 7))")


async def lock(session: Session) -> None:
    """The same, waiting for a turn that another process has begun."""
    await session.run(_WAIT, {"organisation": str(session.organisation)})


async def head(session: Session) -> Head:
    row = await session.row(_HEAD, {"organisation": session.organisation})
    return EMPTY if row is None else Head(row.sequence, row.mac)


_CHAINED = text(f"SELECT e.id FROM evidence e WHERE {tenant('e')} AND e.id = ANY(CAST(:ids AS uuid[]))")


async def chained(session: Session, ids: Sequence[UUID]) -> set[UUID]:
    """Of these records, the ones that the chain holds already."""
    return {row.id for row in await session.rows(_CHAINED, {"organisation": session.organisation, "ids": list(ids)})}


_MAC_AT = text(f"SELECT e.mac FROM evidence e WHERE {tenant('e')} AND e.sequence = :sequence")


async def mac_at(session: Session, sequence: int) -> bytes | None:
    """The MAC of one entry; None when there is none."""
    mac: bytes | None = await session.value(_MAC_AT, {"organisation": session.organisation, "sequence": sequence})
    return mac


async def append(
    session: Session, entries: Sequence[Entry], ids: Sequence[UUID], queued_at: Sequence[datetime]
) -> None:
    await session.run(
        _APPEND,
        {
            "organisation": session.organisation,
            "sequences": [entry.sequence for entry in entries],
            "ids": list(ids),
            "payloads": [entry.payload for entry in entries],
            "previous_macs": [entry.previous_mac for entry in entries],
            "macs": [entry.mac for entry in entries],
            "key_ids": [entry.key_id for entry in entries],
            "queued_at": list(queued_at),
        },
    )


_STREAM = text(
    "SELECT e.sequence, e.key_id, e.previous_mac, e.mac, e.payload FROM evidence e "
    f"WHERE {tenant('e')} AND e.sequence >= :first AND e.sequence <= :last ORDER BY e.sequence"
)


# Few enough that the next ones fit into a socket's buffer: the database does not wait while these are worked on.
_STREAMED = 200


def stream_rows(session: Session, first: int, last: int) -> AsyncGenerator[Sequence[Sequence[Any]], None]:
    """Rows in the order of `Entry`, by sequence, in batches; close the generator."""
    return session.stream(
        _STREAM, {"organisation": session.organisation, "first": first, "last": last}, batch_size=_STREAMED
    )


async def stream(session: Session, first: int = -(2**63), last: int = 2**63 - 1) -> AsyncGenerator[list[Entry], None]:
    """Entries by sequence, in batches; all that the column can hold, since an edit may put one anywhere."""
    async with aclosing(stream_rows(session, first, last)) as batches:
        async for batch in batches:
            yield list(map(Entry._make, batch))


#: What readers of records select of them; `r` is the record.
COLUMNS = f"r.id, r.payload, r.queued_at, {columns('r', 'request_id', 'user_id', 'space_id', 'category')}"
_BY = {"id": "r.id = :value", "request": f"{field('request_id', 'r')} = :value"}
_FIND = {
    by: text(
        f"SELECT {COLUMNS}, r.sequence FROM evidence r WHERE {tenant('r')} AND {condition} "
        f"UNION ALL SELECT {COLUMNS}, NULL FROM attribution_queue r WHERE {tenant('r')} AND {condition} "
        "ORDER BY sequence NULLS LAST, queued_at, id LIMIT :limit"
    )
    for by, condition in _BY.items()
}


async def find_record(session: Session, id: UUID) -> Any | None:
    """A record by its id, chained or still queued (`sequence` None)."""
    return await session.row(_FIND["id"], {"organisation": session.organisation, "value": id, "limit": 1})


_FIND_PLACE = text(f"SELECT {COLUMNS}, r.sequence FROM evidence r WHERE {tenant('r')} AND r.sequence = :sequence")


async def find_place(session: Session, sequence: int) -> Any | None:
    """The record at a place of the chain."""
    return await session.row(_FIND_PLACE, {"organisation": session.organisation, "sequence": sequence})


async def find_request(session: Session, request_id: str, limit: int) -> Sequence[Any]:
    """Every record of a request, in chain order, queued ones last."""
    return await session.rows(
        _FIND["request"], {"organisation": session.organisation, "value": request_id, "limit": limit}
    )


_LINK = text(
    "INSERT INTO response_links (organisation_id, attribution_id, response_id, user_id) "
    "VALUES (:organisation, :attribution, :response, :user) ON CONFLICT DO NOTHING"
)


async def link(session: Session, attribution: UUID, response: str, user: UUID) -> bool:
    """False when the response was linked before."""
    return (
        await session.run(
            _LINK,
            {"organisation": session.organisation, "attribution": attribution, "response": response, "user": user},
        )
        == 1
    )


_HEAD_AGE = text(
    f"SELECT e.sequence, e.appended_at FROM evidence e WHERE {tenant('e')} ORDER BY e.sequence DESC LIMIT 1"
)


async def head_age(session: Session) -> tuple[int, datetime | None]:
    """(last sequence, when it was appended); (0, None) for an empty chain."""
    row = await session.row(_HEAD_AGE, {"organisation": session.organisation})
    return (0, None) if row is None else (row.sequence, row.appended_at)
