"""What was delivered, by item: filled from the chained records, and looked up by who must know where something went."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.evidence import COLUMNS
from app.storage.record_fields import columns, field, raw
from app.storage.scope import tenant
from app.storage.viewer import Viewer, sees_item

DELIVERY = "context_attribution"
LINK = "context_attribution_link"

#: Records whose items are taken at once.
BATCH = 2000


def _uuid(value: str) -> str:
    return f"CASE WHEN pg_input_is_valid({value}, 'uuid') THEN CAST({value} AS uuid) END"


def _list(record: str, name: str) -> str:
    return f"CASE jsonb_typeof({record} -> '{name}') WHEN 'array' THEN {record} -> '{name}' ELSE '[]' END"


def _hash(value: str) -> str:
    return f"CASE WHEN {value} ~ '^[0-9a-f]{{64}}$' THEN decode({value}, 'hex') END"


def _items(record: str) -> str:
    """The items of a record, as (item_id, whole_id, source_id, sha256); `record` is its jsonb. What a hand in the
    database put there in another shape is NULL: it must not stop the others."""
    return f"""
        SELECT {_uuid("c ->> 'chunkId'")} AS item_id, {_uuid("c ->> 'documentId'")} AS whole_id,
            {_uuid("c ->> 'sourceId'")} AS source_id, {_hash("c ->> 'sha256'")} AS sha256
        FROM jsonb_array_elements({_list(record, "chunks")}) c
        UNION ALL SELECT {_uuid("m ->> 'versionId'")}, {_uuid("m ->> 'memoryId'")}, NULL, {_hash("m ->> 'sha256'")}
        FROM jsonb_array_elements({_list(record, "memories")}) m
    """


def _record(alias: str) -> str:
    return f"CAST(convert_from({alias}.payload, 'UTF8') AS jsonb)"


_LOCK = text("SELECT pg_try_advisory_xact_lock(hashtextextended(CAST(:organisation AS text), 10))")
# One statement for a batch, in the records' own order.
_TAKE = text(
    f"""
    WITH done AS (
        SELECT coalesce(max(p.sequence), 0) AS sequence FROM delivered_progress p WHERE {tenant("p")}
    ), batch AS MATERIALIZED (
        SELECT e.sequence, e.id, {columns("e", "user_id", "space_id", "category")}, {_record("e")} AS record
        FROM evidence e, done
        WHERE {tenant("e")} AND e.sequence > done.sequence ORDER BY e.sequence LIMIT :limit
    ), filled AS (
        INSERT INTO delivered_items
            (organisation_id, item_id, attribution_id, whole_id, source_id, sha256, user_id, space_id, valid_at)
        SELECT :organisation, i.item_id, b.id, i.whole_id, i.source_id, i.sha256, b.user_id, b.space_id,
            CAST(b.record ->> 'validAt' AS timestamptz)
        FROM batch b CROSS JOIN LATERAL ({_items("b.record")}) i
        WHERE b.category = '{DELIVERY}' AND pg_input_is_valid(b.record ->> 'validAt', 'timestamptz')
            AND i.item_id IS NOT NULL AND i.whole_id IS NOT NULL AND i.sha256 IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    INSERT INTO delivered_progress (organisation_id, sequence)
    SELECT :organisation, max(b.sequence) FROM batch b HAVING count(*) > 0
    ON CONFLICT (organisation_id) DO UPDATE SET sequence = greatest(excluded.sequence, delivered_progress.sequence)
    """
)


async def take(session: Session) -> bool:
    """Take the items of the organisation's next records; False when there are none or another process is at it."""
    if not await session.value(_LOCK, {"organisation": str(session.organisation)}):
        return False
    return await session.run(_TAKE, {"organisation": session.organisation, "limit": BATCH}) > 0


_ORGANISATIONS = text("SELECT c.organisation_id FROM organisation_clocks c")


async def organisations(session: Session) -> list[UUID]:
    """Every organisation; needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_ORGANISATIONS)]


_NAMED = (
    "(CAST(:id AS uuid) IS NULL OR {0}.item_id = :id OR {0}.whole_id = :id) "
    "AND (CAST(:sha256 AS bytea) IS NULL OR {0}.sha256 = :sha256)"
)
# By the index of the column that is asked for, and of what is not yet in it the few records themselves.
_BY = {
    "id": "(SELECT i.* FROM delivered_items i WHERE {0} AND i.item_id = :id "
    "UNION SELECT i.* FROM delivered_items i WHERE {0} AND i.whole_id = :id)",
    "sha256": "(SELECT i.* FROM delivered_items i WHERE {0} AND i.sha256 = :sha256)",
}
_USED = {
    by: text(
        f"""
        WITH done AS (
            SELECT coalesce(max(p.sequence), 0) AS sequence FROM delivered_progress p WHERE {tenant("p")}
        ), recent AS MATERIALIZED (
            SELECT e.id, {columns("e", "user_id", "space_id")}, {_record("e")} AS record FROM evidence e, done
            WHERE {tenant("e")} AND e.sequence > done.sequence AND {field("category", "e")} = '{DELIVERY}'
            UNION ALL SELECT q.id, {columns("q", "user_id", "space_id")}, {_record("q")} FROM attribution_queue q
            WHERE {tenant("q")} AND {field("category", "q")} = '{DELIVERY}'
        ), used AS (
            SELECT i.attribution_id, i.item_id, i.whole_id, i.source_id, i.user_id, i.space_id
            FROM {named.format(tenant("i"))} i
            UNION SELECT r.id, i.item_id, i.whole_id, i.source_id, r.user_id, r.space_id
            FROM recent r CROSS JOIN LATERAL ({_items("r.record")}) i WHERE {_NAMED.format("i")}
        )
        SELECT u.attribution_id, array_agg(u.item_id ORDER BY u.item_id) AS items FROM used u
        WHERE (CAST(:after AS uuid) IS NULL OR u.attribution_id < :after) AND {sees_item("u")}
        GROUP BY u.attribution_id ORDER BY u.attribution_id DESC LIMIT :limit
        """
    )
    for by, named in _BY.items()
}


async def used(
    session: Session,
    *,
    id: UUID | None,
    sha256: bytes | None,
    viewer: Viewer,
    after: UUID | None,
    limit: int,
) -> list[tuple[UUID, list[UUID]]]:
    """Deliveries that used an item, newest first, each with the items concerned. One of `id` and `sha256` is given."""
    rows = await session.rows(
        _USED["sha256" if id is None else "id"],
        {
            "organisation": session.organisation,
            "id": id,
            "sha256": sha256,
            **viewer.parameters,
            "after": after,
            "limit": limit,
        },
    )
    return [(row.attribution_id, list(row.items)) for row in rows]


_RECORDS = text(
    f"SELECT {COLUMNS}, r.sequence FROM evidence r WHERE {tenant('r')} AND r.id = ANY(CAST(:ids AS uuid[])) "
    f"UNION ALL SELECT {COLUMNS}, NULL FROM attribution_queue r WHERE {tenant('r')} "
    "AND r.id = ANY(CAST(:ids AS uuid[]))"
)
_LINK = f"{raw('category', 'r')} = '{LINK}' AND {raw('attribution_id', 'r')} = ANY(CAST(:ids AS text[]))"
_LINKS = text(
    " UNION ALL ".join(
        f"SELECT {columns('r', 'attribution_id')}, r.payload FROM {table} r WHERE {tenant('r')} AND {_LINK}"
        for table in ("evidence", "attribution_queue")
    )
)


async def records(session: Session, ids: Sequence[UUID]) -> dict[UUID, Any]:
    """Records by id, chained or queued."""
    rows = await session.rows(_RECORDS, {"organisation": session.organisation, "ids": list(ids)})
    return {row.id: row for row in rows}


async def links(session: Session, ids: Sequence[UUID]) -> list[Any]:
    """The records that link a response to one of some deliveries, as (attribution_id, payload)."""
    return list(await session.rows(_LINKS, {"organisation": session.organisation, "ids": list(map(str, ids))}))
