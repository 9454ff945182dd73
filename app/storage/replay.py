"""What a replay reads beside the search: the scope as it was known then, and what became of what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.chain import Entry
from app.domain.dlp.policy import DEFAULT_POLICY, Policy
from app.domain.principal import Permission
from app.storage.engine import Session
from app.storage.permissions import reaches
from app.storage.policies import TODAY, flagged, today
from app.storage.scope import believed_now, known, tenant, valid

# As `reach` gives them, but by id and as they were known then: whether they still exist is not asked.
_SOURCE = f"""jsonb_build_object('id', o.id, 'space_id', o.space_id, 'kind', o.kind, 'provider', o.provider,
    'name', o.name, 'classification', o.classification, 'language', o.language, 'index_version', o.index_version,
    'flagged', {flagged("o.id", "o.classification")},
    'access_policy', o.access_policy, 'synced_at', (SELECT max(y.system_from) FROM source_syncs y
        WHERE {tenant("y")} AND y.source_id = o.id AND y.system_from <= :known_at))"""
_SCOPE = text(
    f"""
    WITH chosen AS (
        SELECT s.id, s.level, s.key_path, s.name, s.path FROM spaces s WHERE {known("s")}
        AND s.id = ANY(CAST(:spaces AS uuid[]))
    )
    SELECT c.system_at, greatest(now(), c.system_at) AS now,
        (SELECT jsonb_agg(to_jsonb(s)) FROM chosen s) AS spaces,
        (SELECT jsonb_agg({_SOURCE}) FROM sources o WHERE {known("o")} AND CASE WHEN CAST(:sources AS uuid[]) IS NULL
            THEN o.space_id IN (SELECT id FROM chosen) ELSE o.id = ANY(CAST(:sources AS uuid[])) END) AS sources,
        (SELECT jsonb_object_agg(w.level, w.weight) FROM level_weights w WHERE {known("w")}) AS weights,
        (SELECT to_jsonb(l) FROM lenses l WHERE {known("l")} AND l.id = CAST(:lens AS uuid)) AS lens,
        ({TODAY}) AS policy
    FROM organisation_clocks c WHERE {tenant("c")}
    """
)


@dataclass(frozen=True, slots=True)
class ScopeThen:
    clock: datetime
    now: datetime
    spaces: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    weights: dict[str, float]
    lens: dict[str, Any] | None
    policy: Policy = DEFAULT_POLICY


async def scope_then(
    session: Session, known_at: datetime, spaces: Sequence[UUID], sources: Sequence[UUID] | None, lens: UUID | None
) -> ScopeThen | None:
    """Spaces, sources (None: all of these spaces), weights and lens as they were known then."""
    rows = await session.fetch(
        _SCOPE,
        {
            "organisation": session.organisation,
            "known_at": known_at,
            "spaces": list(spaces),
            "sources": None if sources is None else list(sources),
            "lens": lens,
        },
    )
    if not rows:
        return None
    clock, now, found, held, weights, lens_row, policy = rows[0]
    return ScopeThen(clock, now, found or [], held or [], weights or {}, lens_row, today(policy))


_SEARCHED = text(
    f"""
    WITH target AS (
        SELECT s.path FROM spaces s WHERE {known("s")} AND CASE WHEN CAST(:space AS uuid) IS NULL
            THEN s.parent_id IS NULL AND s.owner_id IS NULL ELSE s.id = CAST(:space AS uuid) END
    )
    SELECT s.id FROM spaces s WHERE {known("s")} AND (s.owner_id = :user
        OR s.id IN (SELECT unnest(t.path) FROM target t) AND s.owner_id IS NULL AND EXISTS (SELECT FROM grants g
            WHERE {known("g")} AND {valid("g", "CAST(:issued_at AS timestamptz)")} AND g.space_id = ANY(s.path)
            AND g.permission = '{Permission.SEARCH.value}' AND g.principal_id = ANY(CAST(:principals AS uuid[]))
            AND {reaches("g", "s.path", today=False)}))
    """
)


async def searched_then(
    session: Session,
    known_at: datetime,
    issued_at: datetime,
    space: UUID | None,
    user: UUID,
    principals: Sequence[UUID],
) -> list[UUID]:
    """The spaces that a retrieval in a space searched, by the grants that were known then."""
    rows = await session.rows(
        _SEARCHED,
        {
            "organisation": session.organisation,
            "known_at": known_at,
            "issued_at": issued_at,
            "space": space,
            "user": user,
            "principals": list(principals),
        },
    )
    return [row.id for row in rows]


_ENTRY = text(
    f"SELECT e.sequence, e.key_id, e.previous_mac, e.mac, e.payload FROM evidence e WHERE {tenant('e')} AND e.id = :id"
)


async def entry(session: Session, id: UUID) -> Entry | None:
    """A record with its link to the one before it; None while it is queued."""
    row = await session.row(_ENTRY, {"organisation": session.organisation, "id": id})
    return None if row is None else Entry(*row)


_ITEMS = text(
    f"""
    SELECT c.id, c.document_id AS whole_id, c.source_id, c.space_id, c.system_from, c.text_sha256,
        {known("c")} AND {valid("c")} AS holds,
        c.system_to IS NULL AND c.valid_to <= now() AS ends,
        EXISTS (SELECT FROM sources o WHERE {believed_now("o")} AND o.id = c.source_id) AS source_exists,
        CAST(NULL AS uuid) AS owner_id
    FROM chunks c WHERE {tenant("c")} AND c.id = ANY(CAST(:items AS uuid[]))
    UNION ALL SELECT m.id, m.memory_id, NULL, m.space_id, m.system_from, m.text_sha256,
        {known("m")} AND {valid("m")}, m.system_to IS NULL AND m.valid_to <= now(), true,
        coalesce(m.subject_id, m.group_id)
    FROM memory_versions m WHERE {tenant("m")} AND m.id = ANY(CAST(:items AS uuid[]))
    """
)


async def items(session: Session, ids: Sequence[UUID], valid_at: datetime, known_at: datetime) -> dict[UUID, Any]:
    """Chunks and versions of memories, as far as they are stored: (id, whole_id, source_id, space_id, system_from,
    text_sha256, holds at the point of both clocks, ends, source_exists, owner_id)."""
    if not ids:
        return {}
    rows = await session.rows(
        _ITEMS,
        {"organisation": session.organisation, "items": list(ids), "valid_at": valid_at, "known_at": known_at},
    )
    return {row.id: row for row in rows}


_SUBJECT = text(
    f"SELECT s.id, s.external_id, s.space_id, s.pseudonym_key FROM subjects s WHERE {tenant('s')} "
    "AND s.id = CAST(:id AS uuid)"
)


async def subject(session: Session, id: UUID) -> Any | None:
    return await session.row(_SUBJECT, {"organisation": session.organisation, "id": id})


_OWNERS = text(
    f"SELECT DISTINCT m.subject_id, m.group_id FROM memories m WHERE {tenant('m')} "
    "AND m.id = ANY(CAST(:memories AS uuid[]))"
)


async def owners(session: Session, memories: Sequence[UUID]) -> list[Any]:
    """Whose some memories are: (subject_id, group_id), without those that are erased."""
    return list(await session.rows(_OWNERS, {"organisation": session.organisation, "memories": list(memories)}))


_TRACE = text(f"SELECT t.payload FROM retrieval_traces t WHERE {tenant('t')} AND t.request_id = CAST(:request AS uuid)")


async def trace(session: Session, request: UUID) -> bytes | None:
    payload: bytes | None = await session.value(_TRACE, {"organisation": session.organisation, "request": request})
    return payload
