"""Runs of verification as they are recorded, and the schedule of the daily ones."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.scope import tenant


class StoredMark(NamedTuple):
    """The last entry of a valid run, as the table has it: not to be believed before its seal was checked."""

    sequence: int
    mac: bytes
    key_id: str
    seal: bytes


class StoredRun(NamedTuple):
    """One run. `first` and `last` are the range that was read; None where it read nothing."""

    id: UUID
    occasion: str
    requested_by: UUID | None
    started_at: datetime
    finished_at: datetime
    verdict: str
    first_bad_sequence: int | None
    checked_records: int
    first: int | None
    last: int | None
    reason: str


_RECORD = text(
    "INSERT INTO chain_verifications (organisation_id, id, occasion, requested_by, started_at, finished_at, verdict, "
    "first_bad_sequence, checked_records, from_sequence, to_sequence, reason, duration_ms, mark_mac, mark_key_id, "
    "mark_seal) VALUES (:organisation, :id, :occasion, :requested_by, :started_at, :finished_at, :verdict, "
    ":first_bad_sequence, :checked_records, :first, :last, :reason, "
    "CAST(extract(epoch FROM CAST(:finished_at AS timestamptz) - CAST(:started_at AS timestamptz)) * 1000 AS int), "
    ":mark_mac, :mark_key_id, :mark_seal)"
)
_MARK = text(
    "SELECT v.to_sequence, v.mark_mac, v.mark_key_id, v.mark_seal FROM chain_verifications v "
    f"WHERE {tenant('v')} AND v.mark_seal IS NOT NULL ORDER BY v.to_sequence DESC LIMIT 1"
)
_PAGE = text(
    "SELECT v.id, v.occasion, v.requested_by, v.started_at, v.finished_at, v.verdict, v.first_bad_sequence, "
    f"v.checked_records, v.from_sequence, v.to_sequence, v.reason FROM chain_verifications v WHERE {tenant('v')} "
    "AND (CAST(:before AS timestamptz) IS NULL OR (v.finished_at, v.id) < (:before, CAST(:id AS uuid))) "
    "ORDER BY v.finished_at DESC, v.id DESC LIMIT :limit"
)


async def record(session: Session, run: StoredRun, mark: StoredMark | None) -> None:
    """`mark`, where there is one, is that of the entry `run.last`."""
    await session.run(
        _RECORD,
        {
            "organisation": session.organisation,
            **run._asdict(),
            "mark_mac": mark.mac if mark else None,
            "mark_key_id": mark.key_id if mark else None,
            "mark_seal": mark.seal if mark else None,
        },
    )


async def mark(session: Session) -> StoredMark | None:
    """The mark of the furthest entry."""
    row = await session.row(_MARK, {"organisation": session.organisation})
    return None if row is None else StoredMark(*row)


async def page(session: Session, limit: int, before: tuple[datetime, UUID] | None) -> Sequence[StoredRun]:
    """Runs, the latest first; those behind (finished at, id)."""
    at, id = before or (None, None)
    rows = await session.rows(_PAGE, {"organisation": session.organisation, "limit": limit, "before": at, "id": id})
    return [StoredRun(*row) for row in rows]


# The schedule. Its times are the database's, which all processes share.


class Due(NamedTuple):
    """An organisation without a plan yet, or one whose verification is due and claimed by nobody."""

    organisation: UUID
    planned: bool


_DUE = text(
    "SELECT c.organisation_id, s.organisation_id IS NOT NULL AS planned FROM organisation_clocks c "
    "LEFT JOIN verification_schedules s ON s.organisation_id = c.organisation_id WHERE s.organisation_id IS NULL "
    "OR (s.due_at <= clock_timestamp() AND (s.claimed_until IS NULL OR s.claimed_until < clock_timestamp())) "
    "ORDER BY s.due_at NULLS FIRST LIMIT :limit"
)
_PLAN = text(
    "INSERT INTO verification_schedules (organisation_id, due_at) "
    "VALUES (:organisation, clock_timestamp() + CAST(:delay AS interval)) ON CONFLICT DO NOTHING"
)
_CLAIM = text(
    "UPDATE verification_schedules s SET claimed_by = :by, "
    "claimed_until = clock_timestamp() + CAST(:lease AS interval) "
    f"WHERE {tenant('s')} AND s.due_at <= clock_timestamp() "
    "AND (s.claimed_until IS NULL OR s.claimed_until < clock_timestamp())"
)
_RENEW = text(
    "UPDATE verification_schedules s SET claimed_until = clock_timestamp() + CAST(:lease AS interval) "
    f"WHERE {tenant('s')} AND s.claimed_by = :by"
)
_DONE = text(
    "UPDATE verification_schedules s SET claimed_by = NULL, claimed_until = NULL, "
    f"due_at = clock_timestamp() + CAST(:delay AS interval) WHERE {tenant('s')} AND s.claimed_by = :by"
)


async def due(session: Session, limit: int) -> list[Due]:
    """Needs the workers' view."""
    return [Due(*row) for row in await session.rows(_DUE, {"limit": limit})]


async def plan(session: Session, delay: timedelta) -> None:
    """The first verification of an organisation; no change where one is planned."""
    await session.run(_PLAN, {"organisation": session.organisation, "delay": delay})


async def claim(session: Session, by: UUID, lease: timedelta) -> bool:
    """Take a verification that is due, for as long as the lease is; False when another process was first."""
    parameters: dict[str, Any] = {"organisation": session.organisation, "by": by, "lease": lease}
    return await session.run(_CLAIM, parameters) == 1


async def renew(session: Session, by: UUID, lease: timedelta) -> bool:
    """Hold on to what was claimed; False when the claim ran out and another process has it."""
    return await session.run(_RENEW, {"organisation": session.organisation, "by": by, "lease": lease}) == 1


async def done(session: Session, by: UUID, delay: timedelta) -> None:
    """Give it back, due again after `delay`."""
    await session.run(_DONE, {"organisation": session.organisation, "by": by, "delay": delay})
