"""The queue of jobs. A claim is a lease: what a killed worker had claimed is free again once it runs out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.scope import tenant

#: How long a claim holds without a sign of life.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """`state` is WAITING, RUNNING, DONE or PARKED; `total` None while it is not known how much there is to do."""

    id: UUID
    kind: str
    source_id: UUID
    state: str
    attempts: int
    done: int
    total: int | None
    outcome: Mapping[str, Any] | None
    error: str | None
    requested_by: UUID | None
    created_at: datetime
    finished_at: datetime | None


_COLUMNS = (
    "j.id, j.kind, j.source_id, j.state, j.attempts, j.done, j.total, j.outcome, j.error, j.requested_by, "
    "j.created_at, j.finished_at"
)
_ADD = text(
    "INSERT INTO jobs (organisation_id, id, kind, source_id, requested_by) "
    "VALUES (:organisation, :id, :kind, :source, :by) ON CONFLICT DO NOTHING"
)
_WAITING = text(
    f"SELECT {_COLUMNS} FROM jobs j WHERE {tenant('j')} AND j.source_id = :source AND j.kind = :kind "
    "AND j.state = 'WAITING'"
)
_ONE = text(f"SELECT {_COLUMNS} FROM jobs j WHERE {tenant('j')} AND j.id = :id")
_OF_SOURCE = text(
    f"SELECT {_COLUMNS} FROM jobs j WHERE {tenant('j')} AND j.source_id = :source "
    "AND (CAST(:before AS uuid) IS NULL OR j.id < :before) ORDER BY j.id DESC LIMIT :limit"
)
_ORGANISATIONS = text(
    "SELECT DISTINCT organisation_id FROM jobs WHERE state IN ('WAITING','RUNNING') AND due_at <= clock_timestamp() "
    "AND (claimed_until IS NULL OR claimed_until < clock_timestamp())"
)
# Two jobs of one source would only undo each other's reading: one runs at a time.
_CLAIM = text(
    f"""
    UPDATE jobs j SET state = 'RUNNING', attempts = j.attempts + 1, claimed_by = :worker, done = 0, total = NULL,
        claimed_until = clock_timestamp() + :lease
    WHERE {tenant("j")} AND j.id = (
        SELECT w.id FROM jobs w WHERE {tenant("w")} AND w.state IN ('WAITING','RUNNING')
            AND w.due_at <= clock_timestamp() AND (w.claimed_until IS NULL OR w.claimed_until < clock_timestamp())
            AND NOT EXISTS (SELECT FROM jobs b WHERE {tenant("b")} AND b.source_id = w.source_id AND b.id <> w.id
                AND b.state = 'RUNNING' AND b.claimed_until >= clock_timestamp())
        ORDER BY w.due_at, w.id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING {_COLUMNS}
    """
)
_MINE = f"{tenant('j')} AND j.id = :id AND j.claimed_by = :worker AND j.state = 'RUNNING'"
_ALIVE = text(
    f"UPDATE jobs j SET claimed_until = clock_timestamp() + :lease, done = :done, total = :total WHERE {_MINE}"
)
_FINISH = text(
    "UPDATE jobs j SET state = 'DONE', outcome = CAST(:outcome AS jsonb), error = NULL, done = :done, "
    f"total = :total, finished_at = clock_timestamp(), claimed_until = NULL WHERE {_MINE}"
)
_RETURN = text(
    f"UPDATE jobs j SET state = 'WAITING', error = :error, due_at = clock_timestamp() + :pause, claimed_until = NULL "
    f"WHERE {_MINE} AND NOT EXISTS (SELECT FROM jobs w WHERE {tenant('w')} AND w.source_id = j.source_id "
    "AND w.kind = j.kind AND w.state = 'WAITING')"
)
_RELEASE = text(f"UPDATE jobs j SET attempts = j.attempts - 1, claimed_until = NULL, claimed_by = NULL WHERE {_MINE}")
_PARK = text(
    "UPDATE jobs j SET state = 'PARKED', error = :error, finished_at = clock_timestamp(), claimed_until = NULL "
    f"WHERE {_MINE}"
)
_RETRY = text(
    "UPDATE jobs j SET state = 'WAITING', attempts = 0, error = NULL, finished_at = NULL, due_at = clock_timestamp() "
    f"WHERE {tenant('j')} AND j.id = :id AND j.state = 'PARKED' AND NOT EXISTS (SELECT FROM jobs w "
    f"WHERE {tenant('w')} AND w.source_id = j.source_id AND w.kind = j.kind AND w.state = 'WAITING')"
)
_OPEN = text(f"SELECT count(*) FROM jobs j WHERE {tenant('j')} AND j.state IN ('WAITING','RUNNING')")


async def add(session: Session, id: UUID, kind: str, source: UUID, by: UUID | None) -> StoredJob:
    """A new job, or the one that waits to do the same."""
    await session.run(_ADD, {"organisation": session.organisation, "id": id, "kind": kind, "source": source, "by": by})
    made = await session.row(_ONE, {"organisation": session.organisation, "id": id})
    if made is None:
        made = await session.row(_WAITING, {"organisation": session.organisation, "kind": kind, "source": source})
    assert made is not None
    return StoredJob(*made)


async def job(session: Session, id: UUID) -> StoredJob | None:
    row = await session.row(_ONE, {"organisation": session.organisation, "id": id})
    return None if row is None else StoredJob(*row)


async def jobs(session: Session, source: UUID, before: UUID | None, limit: int) -> list[StoredJob]:
    """Those of a source, newest first."""
    rows = await session.rows(
        _OF_SOURCE, {"organisation": session.organisation, "source": source, "before": before, "limit": limit}
    )
    return [StoredJob(*row) for row in rows]


async def open_jobs(session: Session) -> int:
    """Jobs that wait or run."""
    return int(await session.value(_OPEN, {"organisation": session.organisation}))


async def organisations(session: Session) -> Sequence[UUID]:
    """Organisations with jobs to do; needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_ORGANISATIONS)]


async def claim(session: Session, worker: UUID) -> StoredJob | None:
    """The next job, now this worker's for a while; None when there is none."""
    row = await session.row(_CLAIM, {"organisation": session.organisation, "worker": worker, "lease": LEASE})
    return None if row is None else StoredJob(*row)


async def alive(session: Session, id: UUID, worker: UUID, done: int, total: int | None) -> bool:
    """Renew the lease and tell the progress; False when the job is another's by now."""
    named = {"organisation": session.organisation, "id": id, "worker": worker, "lease": LEASE}
    return await session.run(_ALIVE, {**named, "done": done, "total": total}) == 1


async def finish(
    session: Session, id: UUID, worker: UUID, outcome: Mapping[str, Any], done: int, total: int | None
) -> None:
    named = {"organisation": session.organisation, "id": id, "worker": worker}
    await session.run(_FINISH, {**named, "outcome": json.dumps(outcome), "done": done, "total": total})


async def give_back(session: Session, id: UUID, worker: UUID, error: str, pause: timedelta) -> None:
    """To be tried again after a pause. Where another waits to do the same, that one does it, and this one is parked."""
    named = {"organisation": session.organisation, "id": id, "worker": worker, "error": error}
    if not await session.run(_RETURN, {**named, "pause": pause}):
        await session.run(_PARK, named)


async def release(session: Session, id: UUID, worker: UUID) -> None:
    """Let another worker have it at once; this try does not count."""
    await session.run(_RELEASE, {"organisation": session.organisation, "id": id, "worker": worker})


async def park(session: Session, id: UUID, worker: UUID, error: str) -> None:
    """To be looked at by people."""
    await session.run(_PARK, {"organisation": session.organisation, "id": id, "worker": worker, "error": error})


async def retry(session: Session, id: UUID) -> bool:
    """Try a parked job again; False when it is not parked, or another waits to do the same."""
    return await session.run(_RETRY, {"organisation": session.organisation, "id": id}) == 1
