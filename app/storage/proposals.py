"""Proposed revisions of team memories."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

_HOLDS = f"(SELECT max(v.revision) FROM memory_versions v WHERE {tenant('v')} AND v.memory_id = :memory)"
_LAST = text(
    f"SELECT greatest((SELECT max(p.revision) FROM memory_proposals p WHERE {tenant('p')} AND p.memory_id = :memory), "
    f"{_HOLDS})"
)
_PROPOSE = text(
    "INSERT INTO memory_proposals (organisation_id, memory_id, revision, proposal, proposed_by, system_from) "
    "VALUES (:organisation, :memory, :revision, CAST(:proposal AS jsonb), :by, :stamp)"
)
_FIND = text(
    f"SELECT CAST(p.proposal AS text) AS proposal FROM memory_proposals p WHERE {tenant('p')} "
    "AND p.memory_id = :memory AND p.revision = :revision"
)
_ACCEPT = text(
    "UPDATE memory_proposals p SET accepted_by = coalesce(p.accepted_by, :by), "
    f"accepted_at = coalesce(p.accepted_at, :stamp) WHERE {tenant('p')} "
    "AND p.memory_id = :memory AND p.revision = :revision RETURNING p.accepted_at"
)


async def propose(session: WriteSession, memory: UUID, proposal: dict[str, Any], by: UUID) -> int:
    """Store the next revision of a memory as a proposal; its number."""
    last = await session.value(_LAST, {"organisation": session.organisation, "memory": memory})
    revision = (last or 0) + 1
    await session.run(
        _PROPOSE,
        {
            "organisation": session.organisation,
            "memory": memory,
            "revision": revision,
            "proposal": json.dumps(proposal),
            "by": by,
            "stamp": session.stamp,
        },
    )
    return revision


async def find(session: Session, memory: UUID, revision: int) -> dict[str, Any] | None:
    """What was proposed, as `propose` was given it."""
    row = await session.row(_FIND, {"organisation": session.organisation, "memory": memory, "revision": revision})
    return None if row is None else json.loads(row.proposal)


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a proposal. `newest`: the highest revision that was ever in force."""

    accepted_at: datetime | None
    rejected_at: datetime | None
    newest: int | None


_STANDING = text(
    f"SELECT p.accepted_at, p.rejected_at, greatest({_HOLDS}, (SELECT max(o.revision) FROM memory_proposals o "
    f"WHERE {tenant('o')} AND o.memory_id = :memory AND o.accepted_at IS NOT NULL)) AS newest "
    f"FROM memory_proposals p WHERE {tenant('p')} AND p.memory_id = :memory AND p.revision = :revision"
)


async def standing(session: Session, memory: UUID, revision: int) -> Standing | None:
    """None when there is no such proposal."""
    row = await session.row(_STANDING, {"organisation": session.organisation, "memory": memory, "revision": revision})
    return None if row is None else Standing(*row)


async def accept(session: WriteSession, memory: UUID, revision: int, by: UUID) -> datetime:
    """When it was accepted: the session's stamp, unless it was before. LookupError when there is no such proposal."""
    accepted_at: datetime | None = await session.value(
        _ACCEPT,
        {
            "organisation": session.organisation,
            "memory": memory,
            "revision": revision,
            "by": by,
            "stamp": session.stamp,
        },
    )
    if accepted_at is None:
        raise LookupError("no such proposal")
    return accepted_at


_REJECT = text(
    "UPDATE memory_proposals p SET rejected_by = coalesce(p.rejected_by, :by), "
    f"rejected_at = coalesce(p.rejected_at, :stamp) WHERE {tenant('p')} "
    "AND p.memory_id = :memory AND p.revision = :revision AND p.accepted_at IS NULL"
)


async def reject(session: WriteSession, memory: UUID, revision: int, by: UUID) -> None:
    """Turn a proposal down, unless it was decided before."""
    named = {"organisation": session.organisation, "memory": memory, "revision": revision}
    await session.run(_REJECT, {**named, "by": by, "stamp": session.stamp})


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed revision and what became of it. `newest`: the highest revision of the memory that was accepted."""

    memory_id: UUID
    revision: int
    given: dict[str, Any]
    proposed_by: UUID
    proposed_at: datetime
    accepted_by: UUID | None
    accepted_at: datetime | None
    rejected_by: UUID | None
    rejected_at: datetime | None
    newest: int | None


_NEWEST = (
    f"greatest((SELECT max(v.revision) FROM memory_versions v WHERE {tenant('v')} AND v.memory_id = p.memory_id), "
    f"(SELECT max(o.revision) FROM memory_proposals o WHERE {tenant('o')} AND o.memory_id = p.memory_id "
    "AND o.accepted_at IS NOT NULL))"
)
_LISTED = text(
    f"""
    SELECT * FROM (
        SELECT p.memory_id, p.revision, CAST(p.proposal AS text) AS given, p.proposed_by, p.system_from, p.accepted_by,
            p.accepted_at, p.rejected_by, p.rejected_at, {_NEWEST} AS newest
        FROM memories m JOIN memory_proposals p ON {tenant("p")} AND p.memory_id = m.id
        WHERE {tenant("m")} AND m.space_id = CAST(:space AS uuid)
        AND (CAST(:memory AS uuid) IS NULL OR m.id = CAST(:memory AS uuid))
        AND (p.memory_id, p.revision) > (CAST(:after AS uuid), CAST(:revision AS integer))
    ) AS found
    WHERE NOT :pending OR (accepted_at IS NULL AND rejected_at IS NULL AND (newest IS NULL OR newest < revision))
    ORDER BY memory_id, revision LIMIT :limit
    """
)


async def listed(
    session: Session,
    space: UUID,
    *,
    memory: UUID | None,
    pending: bool,
    after: tuple[UUID, int],
    limit: int,
) -> list[Proposal]:
    """The proposals of a space's memories, by memory and revision; `pending`: only those that can still be accepted."""
    rows = await session.rows(
        _LISTED,
        {
            "organisation": session.organisation,
            "space": space,
            "memory": memory,
            "pending": pending,
            "after": after[0],
            "revision": after[1],
            "limit": limit,
        },
    )
    return [Proposal(row.memory_id, row.revision, json.loads(row.given), *row[3:]) for row in rows]
