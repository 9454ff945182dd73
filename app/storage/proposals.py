"""Proposed revisions of team memories."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.scope import tenant

_LAST = text(
    f"SELECT greatest((SELECT max(p.revision) FROM memory_proposals p WHERE {tenant('p')} AND p.memory_id = :memory), "
    f"(SELECT max(v.revision) FROM memory_versions v WHERE {tenant('v')} AND v.memory_id = :memory))"
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
