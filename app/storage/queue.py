"""The attribution queue: where an event is made durable before its answer leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.domain.errors import Code, MunimentError
from app.storage.engine import Database, Session
from app.storage.failures import LATER
from app.storage.scope import tenant

ENQUEUE = "INSERT INTO attribution_queue (organisation_id, id, payload) VALUES (:organisation, :id, :payload)"
_ENQUEUE = text(ENQUEUE)


async def enqueue(session: Session, id: UUID, payload: bytes) -> None:
    """Store the event; it is durable once the session's transaction is committed."""
    await session.run(_ENQUEUE, {"organisation": session.organisation, "id": id, "payload": payload})


async def store(session: Session, id: UUID, payload: bytes) -> None:
    """Store the event and commit. ATTRIBUTION_FAILED when it is not certain that both succeeded."""
    try:
        await enqueue(session, id, payload)
        await session.commit()
    except (SQLAlchemyError, OSError) as error:
        raise MunimentError(
            Code.ATTRIBUTION_FAILED, "the retrieval could not be recorded", retry_after_ms=LATER
        ) from error


_WAITING = text("SELECT DISTINCT organisation_id FROM attribution_queue")
_DEPTH = text(f"SELECT count(*) AS depth, min(q.queued_at) AS oldest FROM attribution_queue q WHERE {tenant('q')}")
_TAKE = text(
    f"SELECT q.position, q.id, q.payload, q.queued_at FROM attribution_queue q WHERE {tenant('q')} "
    "ORDER BY q.position LIMIT :limit"
)
_REMOVE = text(
    f"DELETE FROM attribution_queue q WHERE {tenant('q')} AND q.position = ANY(CAST(:positions AS bigint[]))"
)


async def waiting(session: Session) -> list[UUID]:
    """Organisations with events to chain; needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_WAITING)]


async def depth(session: Session) -> int:
    row = await session.row(_DEPTH, {"organisation": session.organisation})
    return int(row.depth) if row else 0


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits, over all organisations: events to be chained, the seconds that the oldest has waited, chunks to be
    embedded."""

    events: int
    seconds: float
    chunks: int


_BACKLOG = text(
    "SELECT count(*) AS events, coalesce(extract(epoch FROM clock_timestamp() - min(q.queued_at)), 0)::float8 AS age, "
    "(SELECT count(*) FROM embedding_queue) AS chunks FROM attribution_queue q"
)


async def backlog(database: Database) -> Backlog:
    async with database.across() as session:
        row = await session.row(_BACKLOG)
    assert row is not None
    return Backlog(row.events, max(0.0, row.age), row.chunks)


async def take(session: Session, limit: int) -> Sequence[Any]:
    """The oldest events, as (position, id, payload, queued_at)."""
    return await session.rows(_TAKE, {"organisation": session.organisation, "limit": limit})


async def remove(session: Session, positions: Sequence[int]) -> None:
    await session.run(_REMOVE, {"organisation": session.organisation, "positions": list(positions)})
