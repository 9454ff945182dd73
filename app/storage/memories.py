"""Memories: their identities, their versions on both clocks, proposals, accesses and embeddings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from app.domain.memory import EpistemicStatus, MemoryFacts, Owner, TransformType
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.facts import Family
from app.storage.scope import believed_now, known, tenant, valid, valid_within


def _encode(facts: MemoryFacts) -> Mapping[str, Any]:
    return {
        "text": facts.text,
        "text_sha256": facts.text_sha256,
        "tokens": facts.tokens,
        "importance": facts.importance,
        "confidence": facts.confidence,
        "epistemic_status": facts.epistemic_status.value,
        "transform_type": facts.transform_type.value,
        "tags": list(facts.tags),
        "revision": facts.revision,
    }


def _decode(row: AnyRow) -> MemoryFacts:
    return MemoryFacts(
        text=row.text,
        tokens=row.tokens,
        importance=row.importance,
        confidence=row.confidence,
        epistemic_status=EpistemicStatus(row.epistemic_status),
        transform_type=TransformType(row.transform_type),
        tags=tuple(row.tags),
        revision=row.revision,
    )


VERSIONS: Family[MemoryFacts] = Family(
    "memory_versions",
    "memory_id",
    {
        "text": "",
        "text_sha256": "",
        "tokens": "",
        "importance": "float8",
        "confidence": "float8",
        "epistemic_status": "",
        "transform_type": "",
        "tags": "text[]",
        "revision": "",
    },
    _encode,
    _decode,
)

_CREATE = text(
    "INSERT INTO memories (organisation_id, id, subject_id, group_id, space_id, system_from) "
    "VALUES (:organisation, :id, :subject, :group, :space, :stamp)"
)
_OWNER = text(f"SELECT m.space_id, m.subject_id, m.group_id FROM memories m WHERE {tenant('m')} AND m.id = :id")
_ATTACH = text(
    "INSERT INTO memory_embeddings (organisation_id, memory_id, text_sha256, model, vector, system_from) "
    "VALUES (:organisation, :memory, :text, :model, :vector, :stamp) ON CONFLICT DO NOTHING"
)


def owner_columns(owner: Owner) -> dict[str, UUID | None]:
    """What every version of a memory carries, so that search need not join."""
    return {"space_id": owner.space_id, "subject_id": owner.subject_id, "group_id": owner.group_id}


async def create(session: WriteSession, id: UUID, owner: Owner) -> None:
    await session.run(
        _CREATE,
        {
            "organisation": session.organisation,
            "id": id,
            "subject": owner.subject_id,
            "group": owner.group_id,
            "space": owner.space_id,
            "stamp": session.stamp,
        },
    )


async def find_owner(session: Session, id: UUID) -> Owner | None:
    row = await session.row(_OWNER, {"organisation": session.organisation, "id": id})
    return None if row is None else Owner(row.space_id, row.subject_id, row.group_id)


_SPACES = text(f"SELECT m.id, m.space_id FROM memories m WHERE {tenant('m')} AND m.id = ANY(CAST(:memories AS uuid[]))")


async def spaces_of(session: Session, memories: Collection[UUID]) -> dict[UUID, UUID]:
    """The space of each memory that there is."""
    rows = await session.rows(_SPACES, {"organisation": session.organisation, "memories": list(memories)})
    return {row.id: row.space_id for row in rows}


async def attach_embedding(
    session: WriteSession, memory: UUID, text_sha256: bytes, model: str, vector: NDArray[np.float32]
) -> None:
    await session.run(
        _ATTACH,
        {
            "organisation": session.organisation,
            "memory": memory,
            "text": text_sha256,
            "model": model,
            "vector": HalfVector(vector),
            "stamp": session.stamp,
        },
    )


_UNEMBEDDED = text(
    f"""
    SELECT DISTINCT ON (m.memory_id, m.text_sha256) m.memory_id, m.text_sha256, m.text FROM memory_versions m
    WHERE {believed_now("m")} AND NOT EXISTS (SELECT FROM memory_embeddings e WHERE {tenant("e")}
        AND e.memory_id = m.memory_id AND e.text_sha256 = m.text_sha256 AND e.model = :model)
    ORDER BY m.memory_id, m.text_sha256 LIMIT :limit
    """
)


async def unembedded(session: Session, model: str, limit: int) -> Sequence[AnyRow]:
    """Texts of memories that have no embedding of the model, as (memory_id, text_sha256, text)."""
    return await session.rows(_UNEMBEDDED, {"organisation": session.organisation, "model": model, "limit": limit})


@dataclass(frozen=True, slots=True)
class Listed:
    """A memory as it was believed at one point of both clocks."""

    memory_id: UUID
    version_id: UUID
    owner: Owner
    facts: MemoryFacts
    valid_from: datetime | None
    valid_to: datetime | None
    system_from: datetime
    system_to: datetime | None


_LISTED = (
    "f.memory_id, f.id, f.space_id, f.subject_id, f.group_id, f.text, f.tokens, f.importance, f.confidence, "
    "f.epistemic_status, f.transform_type, f.tags, f.revision, f.valid_from, f.valid_to, f.system_from, f.system_to"
)
_AT = text(
    f"SELECT {_LISTED} FROM memory_versions f WHERE {known('f')} AND {valid('f')} "
    "AND f.memory_id = ANY(CAST(:memories AS uuid[]))"
)
# By way of the identities: they have an index by owner that holds for every point of system time.
_OWNED = {
    kind: text(
        f"SELECT {_LISTED} FROM memories o JOIN memory_versions f ON f.memory_id = o.id AND {known('f')} "
        f"AND {valid('f')} WHERE {tenant('o')} AND {whose} AND o.id > :after ORDER BY o.id LIMIT :limit"
    )
    for kind, whose in (
        ("subject", "o.subject_id = :owner"),
        ("group", "o.group_id = :owner"),
        ("space", "o.subject_id IS NULL AND o.group_id IS NULL AND o.space_id = :owner"),
    )
}
#: Before every memory's id.
FIRST_ID = UUID(int=0)


async def at(session: Session, ids: Sequence[UUID], valid_at: datetime, known_at: datetime) -> list[Listed]:
    """The memories that were believed to hold then."""
    rows = await session.rows(
        _AT,
        {
            "organisation": session.organisation,
            "memories": list(ids),
            "valid_at": valid_at,
            "known_at": known_at,
        },
    )
    return [_listed(row) for row in rows]


async def owned(
    session: Session, owner: Owner, valid_at: datetime, known_at: datetime, after: UUID, limit: int
) -> list[Listed]:
    """An owner's memories as they were believed to hold then, by id."""
    kind = "subject" if owner.subject_id else "group" if owner.group_id else "space"
    rows = await session.rows(
        _OWNED[kind],
        {
            "organisation": session.organisation,
            "owner": owner.subject_id or owner.group_id or owner.space_id,
            "valid_at": valid_at,
            "known_at": known_at,
            "after": after,
            "limit": limit,
        },
    )
    return [_listed(row) for row in rows]


_FIRST_FROM = text(
    f"SELECT {_LISTED} FROM memory_versions f WHERE {known('f')} AND f.memory_id = :memory AND {valid_within('f')} "
    "ORDER BY f.valid_from NULLS FIRST LIMIT 1"
)


async def first_from(session: Session, memory: UUID, start: datetime | None, known_at: datetime) -> Listed | None:
    """What was believed of the first period that reaches beyond `start`; None = the first of all."""
    row = await session.row(
        _FIRST_FROM,
        {
            "organisation": session.organisation,
            "memory": memory,
            "start": start,
            "end": None,
            "known_at": known_at,
        },
    )
    return None if row is None else _listed(row)


def _listed(row: AnyRow) -> Listed:
    return Listed(
        row.memory_id,
        row.id,
        Owner(row.space_id, row.subject_id, row.group_id),
        _decode(row),
        row.valid_from,
        row.valid_to,
        row.system_from,
        row.system_to,
    )


_CLOSE_ACCESS = text(
    f"UPDATE memory_accesses a SET system_to = :stamp WHERE {tenant('a')} AND a.system_to IS NULL "
    "AND a.memory_id = ANY(CAST(:memories AS uuid[])) RETURNING a.memory_id, a.count AS uses"
)
_OPEN_ACCESS = text(
    "INSERT INTO memory_accesses (organisation_id, memory_id, count, system_from) "
    "VALUES (:organisation, :memory, :count, :stamp)"
)
_EXISTING = text(f"SELECT m.id FROM memories m WHERE {tenant('m')} AND m.id = ANY(CAST(:memories AS uuid[]))")


async def count_access(session: WriteSession, memories: Sequence[UUID]) -> None:
    """One more response used these memories; those forgotten meanwhile are passed over."""
    base = {"organisation": session.organisation, "stamp": session.stamp}
    named = {**base, "memories": list(memories)}
    existing = [row.id for row in await session.rows(_EXISTING, named)]
    counted = {row.memory_id: row.uses for row in await session.rows(_CLOSE_ACCESS, {**named, "memories": existing})}
    await session.run(
        _OPEN_ACCESS, [{**base, "memory": memory, "count": counted.get(memory, 0) + 1} for memory in existing]
    )
