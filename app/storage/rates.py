"""Counts of calls that all processes share: a ring of buckets for each caller and action."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from app.domain.limits import BUCKET_SECONDS, BUCKETS
from app.storage.engine import Session
from app.storage.scope import tenant

_RING = BUCKETS + 1
_NOW = f"CAST(floor(extract(epoch FROM clock_timestamp()) / {BUCKET_SECONDS}) AS bigint)"
# All or nothing of what is wanted; what was spent already counts in any case. One row, so that callers take turns.
_SPEND = text(
    f"""
    INSERT INTO rate_counts AS r (organisation_id, caller_id, action, newest, counts, granted)
    SELECT :organisation, :caller, :action, {_NOW},
        CAST(:spent AS int) + g.granted || array_fill(0, ARRAY[{BUCKETS}]), g.granted
    FROM (SELECT CASE WHEN CAST(:spent AS int) + CAST(:wanted AS int) <= CAST(:most AS int)
        THEN CAST(:wanted AS int) ELSE 0 END AS granted) g
    ON CONFLICT (organisation_id, caller_id, action) DO UPDATE SET (newest, counts, granted) = (
        SELECT s.newest, (s.counts[1] + CAST(:spent AS int) + g.granted) || s.counts[2:{_RING}], g.granted
        FROM (
            SELECT greatest(b.number, r.newest) AS newest,
                (array_fill(0, ARRAY[CAST(least({_RING}, greatest(0, b.number - r.newest)) AS int)])
                    || r.counts)[1:{_RING}] AS counts
            FROM (SELECT {_NOW} AS number) b
        ) s, LATERAL (
            SELECT CASE WHEN (SELECT sum(c) FROM unnest(s.counts) c) + CAST(:spent AS int) + CAST(:wanted AS int)
                <= CAST(:most AS int) THEN CAST(:wanted AS int) ELSE 0 END AS granted
        ) g
    )
    RETURNING counts, granted, extract(epoch FROM clock_timestamp()) - newest * {BUCKET_SECONDS}
    """
)


@dataclass(frozen=True, slots=True)
class Ring:
    """The window of one caller and action: calls by bucket, the newest first, which began `into_bucket` seconds ago."""

    counts: Sequence[int]
    granted: int
    into_bucket: float


async def spend(session: Session, caller: UUID, action: str, *, spent: int, wanted: int, most: int) -> Ring:
    """Count `spent` calls that were let in already, and `wanted` more if then at most `most` are in the window."""
    values = {"organisation": session.organisation, "caller": caller, "action": action}
    row = await session.row(_SPEND, {**values, "spent": spent, "wanted": wanted, "most": most})
    assert row is not None
    return Ring(row[0], row[1], float(row[2]))


_FORGET = text(f"DELETE FROM rate_counts r WHERE {tenant('r')} AND r.newest < {_NOW} - {_RING}")


async def forget(session: Session) -> None:
    """Remove what has left every window."""
    await session.run(_FORGET, {"organisation": session.organisation})
