"""Organisations, spaces, principals and grants: making them and finding them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Level, Permission
from app.storage.engine import Database, Session, WriteSession
from app.storage.scope import believed_now, tenant

_ORGANISATION = text(f"SELECT o.organisation_id FROM organisations o WHERE {tenant('o')}")
_NEW_ORGANISATION = text("INSERT INTO organisations (organisation_id, key, name) VALUES (:organisation, :key, :name)")
_NEW_CLOCK = text(
    "INSERT INTO organisation_clocks (organisation_id, system_at) "
    "VALUES (:organisation, coalesce(CAST(:clock AS timestamptz), now()))"
)


async def create_organisation(
    database: Database, organisation: UUID, key: str, name: str, clock: datetime | None = None
) -> bool:
    """Make the organisation and start its clock, now unless told otherwise. False when it already stands."""
    async with database.unstamped(organisation) as session:
        if await session.value(_ORGANISATION, {"organisation": organisation}) is not None:
            return False
        await session.run(_NEW_ORGANISATION, {"organisation": organisation, "key": key, "name": name})
        await session.run(_NEW_CLOCK, {"organisation": organisation, "clock": clock})
    return True


_ORGANISATIONS = text("SELECT c.organisation_id FROM organisation_clocks c ORDER BY c.organisation_id")


async def organisations(session: Session) -> list[UUID]:
    """Every organisation; needs the workers' view."""
    return [row.organisation_id for row in await session.rows(_ORGANISATIONS)]


_FIND_SPACE = text(
    f"SELECT s.id, s.path, s.key_path, s.level FROM spaces s WHERE {believed_now('s')} AND s.key_path = :key_path"
)
_SPACE_BY_ID = text(
    "SELECT s.id, s.path, s.key_path, s.level, s.name FROM spaces s "
    f"WHERE {believed_now('s')} AND s.id = CAST(:id AS uuid)"
)
_NEW_SPACE = text(
    "INSERT INTO spaces (organisation_id, id, parent_id, path, key_path, level, name, owner_id, system_from) "
    "VALUES (:organisation, :id, :parent_id, :path, :key_path, :level, :name, :owner_id, :stamp)"
)


async def find_space(session: Session, key_path: str) -> Any | None:
    return await session.row(_FIND_SPACE, {"organisation": session.organisation, "key_path": key_path})


async def space_by_id(session: Session, id: UUID) -> Any:
    """LookupError when there is none."""
    row = await session.row(_SPACE_BY_ID, {"organisation": session.organisation, "id": id})
    if row is None:
        raise LookupError("no such space")
    return row


async def create_space(
    session: WriteSession,
    *,
    id: UUID,
    parent: Any | None,
    key_path: str,
    level: Level,
    name: str,
    owner_id: UUID | None = None,
) -> None:
    """`parent` has an id and a path, as a row of `find_space` has; the root has none."""
    await session.run(
        _NEW_SPACE,
        {
            "organisation": session.organisation,
            "id": id,
            "parent_id": parent.id if parent else None,
            "path": [*(parent.path if parent else []), id],
            "key_path": key_path,
            "level": level.value,
            "name": name,
            "owner_id": owner_id,
            "stamp": session.stamp,
        },
    )


_NEW_PRINCIPAL = text(
    "INSERT INTO principals (organisation_id, id, kind, external_id, system_from) "
    "SELECT :organisation, CAST(:id AS uuid), :kind, :external_id, :stamp WHERE NOT EXISTS "
    f"(SELECT FROM principals p WHERE {believed_now('p')} AND p.id = CAST(:id AS uuid))"
)
_NEW_GRANT = text(
    "INSERT INTO grants (organisation_id, id, principal_id, space_id, permission, system_from) "
    "SELECT :organisation, :id, CAST(:principal AS uuid), CAST(:space AS uuid), CAST(:permission AS text), :stamp "
    f"WHERE NOT EXISTS (SELECT FROM grants g WHERE {believed_now('g')} AND g.valid_to IS NULL "
    "AND g.principal_id = CAST(:principal AS uuid) AND g.space_id = CAST(:space AS uuid) "
    "AND g.permission = CAST(:permission AS text))"
)


async def create_principal(session: WriteSession, id: UUID, kind: str, external_id: str) -> None:
    await session.run(
        _NEW_PRINCIPAL,
        {
            "organisation": session.organisation,
            "id": id,
            "kind": kind,
            "external_id": external_id,
            "stamp": session.stamp,
        },
    )


async def grant(session: WriteSession, id: UUID, principal: UUID, space: UUID, permission: Permission) -> None:
    """Grant on a space and below, from now on; a grant that already stands stays as it is."""
    await session.run(
        _NEW_GRANT,
        {
            "organisation": session.organisation,
            "id": id,
            "principal": principal,
            "space": space,
            "permission": permission.value,
            "stamp": session.stamp,
        },
    )


_COUNT_SPACES = text(f"SELECT count(*) FROM spaces s WHERE {believed_now('s')}")


async def count_spaces(session: Session) -> int:
    return int(await session.value(_COUNT_SPACES, {"organisation": session.organisation}))


_HAS_SOURCES = text(
    f"SELECT EXISTS (SELECT FROM sources o WHERE {believed_now('o')} AND o.space_id = CAST(:space AS uuid) "
    f"AND EXISTS (SELECT FROM source_syncs y WHERE {tenant('y')} AND y.source_id = o.id))"
)


async def has_sources(session: Session, space: UUID) -> bool:
    """Whether the space has a source that was read to its end; one whose first reading was cut short does not count."""
    return bool(await session.value(_HAS_SOURCES, {"organisation": session.organisation, "space": space}))
