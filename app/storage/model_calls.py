"""Calls of a model that named a retrieval."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.scope import tenant

_FIELDS = (
    "id",
    "user_id",
    "context_request_id",
    "attribution_id",
    "endpoint",
    "model",
    "started_at",
    "duration_ms",
    "status",
    "streamed",
    "outcome",
    "link",
    "client_id",
    "client_name",
    "client_version",
)
_STORE = text(
    f"INSERT INTO model_calls (organisation_id, {', '.join(_FIELDS)}) "
    f"VALUES (:organisation, {', '.join(f':{name}' for name in _FIELDS)})"
)


async def store(session: Session, call: dict[str, Any]) -> None:
    """`call` has a value for every column but the organisation."""
    await session.run(_STORE, {"organisation": session.organisation, **call})


_NAMING = text(
    f"SELECT {', '.join(f'c.{name}' for name in _FIELDS)} FROM model_calls c WHERE {tenant('c')} "
    "AND c.context_request_id = ANY(CAST(:named AS text[])) "
    "AND (CAST(:after AS uuid) IS NULL OR c.id > CAST(:after AS uuid)) ORDER BY c.id LIMIT :limit"
)


async def naming(session: Session, named: Sequence[str], after: UUID | None, limit: int) -> Sequence[Any]:
    """Calls that named one of these, in the order in which they came."""
    return await session.rows(
        _NAMING, {"organisation": session.organisation, "named": list(named), "after": after, "limit": limit}
    )
