"""What became of what was delivered: corrected, retracted, changed, erased, or its source removed.

An item moved when today's belief about the point of valid time that was read no longer has its text in its document or
memory, or has it but no longer today because of a write. That its row was cut anew is no movement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.scope import believed_now, tenant, valid
from app.storage.viewer import Viewer, sees_item


@dataclass(frozen=True, slots=True)
class Held:
    """An item of a delivery: `source` None for a version of a memory; `valid_at` is the point that was read."""

    attribution: UUID
    item: UUID
    whole: UUID
    source: UUID | None
    valid_at: datetime


@dataclass(frozen=True, slots=True)
class Movement:
    """`kind` is CORRECTED, RETRACTED, CHANGED, ERASED or SOURCE_REMOVED; `at` None where nothing is kept of when."""

    attribution: UUID
    item: UUID
    whole: UUID
    kind: str
    at: datetime | None


def _part(table: str, whole: str, versions: str, removed: str, is_part: str) -> str:
    """Movements of the rows of one table, of those of `given` that are `is_part`."""
    same = f"n.{whole} = d.whole_id AND n.text_sha256 = r.text_sha256"
    return f"""
        SELECT d.attribution_id, d.item_id, d.whole_id, m.kind, CASE m.kind
            WHEN 'ERASED' THEN
                (SELECT max(x.erased_at) FROM erased_items x WHERE {tenant("x")} AND x.item_id = d.item_id)
            WHEN 'SOURCE_REMOVED' THEN
                (SELECT max(o.system_to) FROM sources o WHERE {tenant("o")} AND o.id = d.source_id)
            ELSE (SELECT max(n.system_to) FROM {table} n WHERE {tenant("n")} AND n.system_to IS NOT NULL AND {same}
                AND {valid("n", "d.valid_at")} AND (m.kind <> 'CHANGED' OR n.valid_to IS NULL OR n.valid_to > now()))
            END AS at
        FROM given d LEFT JOIN {table} r ON {tenant("r")} AND r.id = d.item_id
        CROSS JOIN LATERAL (SELECT CASE
            WHEN r.id IS NULL THEN 'ERASED'
            WHEN {removed} THEN 'SOURCE_REMOVED'
            WHEN r.system_to IS NULL THEN NULL
            WHEN NOT EXISTS (SELECT FROM {table} n WHERE {believed_now("n")} AND {same} AND {valid("n", "d.valid_at")})
                THEN CASE WHEN EXISTS (SELECT FROM {versions} v WHERE {believed_now("v")} AND v.{whole} = d.whole_id
                    AND {valid("v", "d.valid_at")}) THEN 'CORRECTED' ELSE 'RETRACTED' END
            WHEN (r.valid_to IS NULL OR r.valid_to > now())
                AND NOT EXISTS (SELECT FROM {table} n WHERE {believed_now("n")} AND {same} AND {valid("n", "now()")})
                THEN 'CHANGED'
            END AS kind) m
        WHERE {is_part} AND m.kind IS NOT NULL
    """


#: Over a relation `given` of (attribution_id, item_id, whole_id, source_id, valid_at).
_MOVED = " UNION ALL ".join(
    (
        _part(
            "chunks",
            "document_id",
            "document_versions",
            f"NOT EXISTS (SELECT FROM sources o WHERE {believed_now('o')} AND o.id = d.source_id)",
            "d.source_id IS NOT NULL",
        ),
        _part("memory_versions", "memory_id", "memory_versions", "false", "d.source_id IS NULL"),
    )
)

_OF = text(
    "WITH given AS (SELECT * FROM unnest(CAST(:attributions AS uuid[]), CAST(:items AS uuid[]), "
    "CAST(:wholes AS uuid[]), CAST(:sources AS uuid[]), CAST(:valid AS timestamptz[])) "
    f"AS u (attribution_id, item_id, whole_id, source_id, valid_at)) {_MOVED}"
)


async def of(session: Session, items: Sequence[Held]) -> list[Movement]:
    """The movements of some items, in one statement."""
    if not items:
        return []
    rows = await session.rows(
        _OF,
        {
            "organisation": session.organisation,
            "attributions": [item.attribution for item in items],
            "items": [item.item for item in items],
            "wholes": [item.whole for item in items],
            "sources": [item.source for item in items],
            "valid": [item.valid_at for item in items],
        },
    )
    return [Movement(*row) for row in rows]


# From what moved to who was given it: documents and memories with a row that was closed since, sources that were
# removed since, and what was erased since.
_STALE = text(
    f"""
    WITH touched AS (
        SELECT c.document_id AS whole FROM chunks c WHERE {tenant("c")} AND c.system_to > :since
        UNION SELECT v.memory_id FROM memory_versions v WHERE {tenant("v")} AND v.system_to > :since
        UNION SELECT x.whole_id FROM erased_items x WHERE {tenant("x")} AND x.erased_at > :since
        UNION SELECT k.id FROM sources o JOIN documents k ON {tenant("k")} AND k.source_id = o.id
            WHERE {tenant("o")} AND o.system_to > :since
            AND NOT EXISTS (SELECT FROM sources p WHERE {believed_now("p")} AND p.id = o.id)
    ), given AS (
        SELECT i.attribution_id, i.item_id, i.whole_id, i.source_id, i.valid_at
        FROM delivered_items i JOIN touched t ON t.whole = i.whole_id
        WHERE {tenant("i")} AND (CAST(:after AS uuid) IS NULL OR i.attribution_id < :after)
            AND {sees_item("i")}
    ), moved AS ({_MOVED}), page AS (
        SELECT DISTINCT m.attribution_id FROM moved m WHERE m.at > :since ORDER BY m.attribution_id DESC LIMIT :limit
    )
    SELECT m.* FROM moved m JOIN page p ON p.attribution_id = m.attribution_id WHERE m.at > :since
    ORDER BY m.attribution_id DESC, m.at DESC, m.item_id
    """
)


async def stale(
    session: Session,
    since: datetime,
    *,
    viewer: Viewer,
    after: UUID | None,
    limit: int,
) -> list[Movement]:
    """Movements since an instant, of the newest `limit` deliveries before `after` that have any and may be seen."""
    rows = await session.rows(
        _STALE,
        {
            "organisation": session.organisation,
            "since": since,
            **viewer.parameters,
            "after": after,
            "limit": limit,
        },
    )
    return [Movement(*row) for row in rows]
