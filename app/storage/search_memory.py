"""The memory leg: an owner's memories on both clocks, newest first, each with what ranking needs of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import TextClause, text

from app.storage.engine import Session
from app.storage.scope import Scope, believed_now, tenant, visible


class Owners(Enum):
    """Whose memories a part of the leg reads: equality of ids, always."""

    SUBJECT = "{0}.subject_id = CAST(:owner AS uuid)"
    GROUPS = "{0}.group_id = ANY(CAST(:owner AS uuid[]))"
    SPACES = "{0}.subject_id IS NULL AND {0}.group_id IS NULL AND {0}.space_id = ANY(CAST(:owner AS uuid[]))"

    def of(self, alias: str) -> str:
        """The predicate on the rows of one alias."""
        return self.value.format(alias)


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that may be recalled. `similarity` is None where its text has no embedding of the model."""

    organisation: UUID
    version_id: UUID
    memory_id: UUID
    subject_id: UUID | None
    group_id: UUID | None
    space_id: UUID
    text_sha256: bytes
    tokens: int
    importance: float
    revision: int
    valid_from: datetime | None
    system_from: datetime
    similarity: float | None
    access_count: int


@cache
def _leg(owners: Owners, present: bool, asked: bool) -> TextClause:
    known_at = "" if present else "AND e.system_from <= :known_at"
    similarity = (
        f"""(SELECT 1 - (e.vector <=> CAST(:query AS halfvec)) FROM memory_embeddings e WHERE {tenant("e")}
            AND e.memory_id = m.memory_id AND e.text_sha256 = m.text_sha256 AND e.model = :model {known_at})"""
        if asked
        else "NULL"
    )
    # A count stands until the next one: the last before the point is found at once, however often it was used since.
    accessed = "a.system_to IS NULL" if present else "a.system_from <= :known_at ORDER BY a.system_from DESC LIMIT 1"
    # The indexes of versions by owner are of those that are believed now. Those of identities hold for every point.
    identities = (
        ""
        if present
        else f"AND m.memory_id = ANY(ARRAY(SELECT o.id FROM memories o WHERE {tenant('o')} AND {owners.of('o')}))"
    )
    return text(
        f"""
        SELECT m.organisation_id, m.id, m.memory_id, m.subject_id, m.group_id, m.space_id, m.text_sha256, m.tokens,
            m.importance, m.revision, m.valid_from, m.system_from, {similarity} AS similarity,
            coalesce((SELECT a.count FROM memory_accesses a WHERE {tenant("a")} AND a.memory_id = m.memory_id
                AND {accessed}), 0) AS access_count
        FROM memory_versions m WHERE {visible("m", present)} AND {owners.of("m")} {identities}
        ORDER BY coalesce(m.valid_from, m.system_from) DESC, m.id LIMIT :limit
        """
    )


async def search(
    session: Session,
    scope: Scope,
    owners: Owners,
    owner: UUID | Sequence[UUID],
    *,
    query: NDArray[np.float32] | None,
    model: str | None,
    limit: int,
) -> list[MemoryHit]:
    """The newest `limit` memories. With no query nothing is compared."""
    parameters: dict[str, Any] = {
        **scope.parameters,
        "owner": owner if isinstance(owner, UUID) else list(owner),
        "limit": limit,
    }
    if query is not None:
        parameters |= {"query": HalfVector(query), "model": model}
    rows = await session.fetch(_leg(owners, scope.present, query is not None), parameters)
    return [MemoryHit(*row) for row in rows]


_TEXTS = text(
    "SELECT m.id, m.text, m.confidence, m.epistemic_status, m.transform_type, m.tags, m.valid_to, s.key_path, s.level "
    f"FROM memory_versions m JOIN spaces s ON {believed_now('s')} AND s.id = m.space_id "
    f"WHERE {tenant('m')} AND m.id = ANY(CAST(:versions AS uuid[]))"
)


@dataclass(frozen=True, slots=True)
class MemoryText:
    version_id: UUID
    text: str
    confidence: float | None
    epistemic_status: str
    transform_type: str
    tags: list[str]
    valid_to: datetime | None
    space_key: str
    level: str


async def texts(session: Session, versions: Sequence[UUID]) -> dict[UUID, MemoryText]:
    """The texts of the memories that are recalled, by version."""
    rows = await session.rows(_TEXTS, {"organisation": session.organisation, "versions": list(versions)})
    return {row[0]: MemoryText(*row) for row in rows}
