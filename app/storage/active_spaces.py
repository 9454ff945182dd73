"""The space that a caller asks from when nothing else names one, on the system clock."""

from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.storage.engine import Session, WriteSession
from app.storage.permissions import SHOWN, VISIBLE
from app.storage.scope import believed_now

_READ = text(
    f"SELECT {SHOWN} FROM active_spaces a JOIN spaces s ON {believed_now('s')} AND s.id = a.space_id AND {VISIBLE} "
    f"WHERE {believed_now('a')} AND a.principal_id = :user"
)
_CLOSE = text(
    f"UPDATE active_spaces a SET system_to = :stamp WHERE {believed_now('a')} AND a.principal_id = CAST(:user AS uuid)"
)
_NEW = text(
    "INSERT INTO active_spaces (organisation_id, principal_id, space_id, system_from) "
    "VALUES (:organisation, :user, :space, :stamp)"
)


async def read(session: Session, user: UUID, principals: list[UUID]) -> Any | None:
    """The caller's active space, as a row of `permissions.visible_spaces`; None when there is none they may see."""
    return await session.row(_READ, {"organisation": session.organisation, "user": user, "principals": principals})


async def replace(session: WriteSession, user: UUID, space: UUID | None) -> None:
    """From the session's instant on the caller's active space is this, or none."""
    base = {"organisation": session.organisation, "user": user, "stamp": session.stamp}
    await session.run(_CLOSE, base)
    if space is not None:
        await session.run(_NEW, {**base, "space": space})
