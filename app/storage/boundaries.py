"""Until when an answer about now stands: the next instant at which a fact of the organisation begins or ends."""

from datetime import datetime

from sqlalchemy import text

from app.storage.engine import Session
from app.storage.scope import Scope, next_boundary

#: Passages come and go with the versions of their documents, group memories with memberships too.
FACTS = ("document_versions", "memory_versions", "memberships")

_NEXT = text(f"SELECT least({', '.join(f'({next_boundary(table)})' for table in FACTS)})")


async def next_change(session: Session, scope: Scope) -> datetime | None:
    """After the scope's point of valid time; None when nothing that is believed today ever begins or ends after it."""
    rows = await session.fetch(_NEXT, {"organisation": scope.organisation, "valid_at": scope.as_of.valid_at})
    found: datetime | None = rows[0][0]
    return found
