"""Organisations, spaces, grants: making them, and the one statement that says what a caller may search."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Level, Permission
from app.storage.engine import Database, Session, WriteSession
from app.storage.scope import believed_now, known, tenant, valid

# One row: the clock, and everything about spaces that the question needs. A space counts when it was known at :known_at
# and still exists today; permission is always today's, held where the space stands today.
_REACH = text(
    f"""
    WITH clock AS (
        SELECT system_at, least(CAST(:known_at AS timestamptz), system_at) AS asked, greatest(now(), system_at) AS now
        FROM organisation_clocks c WHERE {tenant("c")}
    ), at AS (
        SELECT system_at, coalesce(asked, system_at) AS known_at, now FROM clock
    ), held AS (
        SELECT g.space_id, g.permission FROM grants g, at
        WHERE {believed_now("g")} AND {valid("g", "at.now")} AND g.principal_id = ANY(CAST(:principals AS uuid[]))
    ), tree AS (
        SELECT s.*, t.path AS path_today, t.owner_id AS owner_today
        FROM at, spaces s JOIN spaces t ON {believed_now("t")} AND t.id = s.id WHERE {known("s", "at.known_at")}
    ), target AS (
        SELECT path FROM tree WHERE (owner_today IS NULL OR owner_today = :user) AND (
            id = CAST(:space_id AS uuid) OR key_path = CAST(:key_path AS text)
            OR (CAST(:space_id AS uuid) IS NULL AND CAST(:key_path AS text) IS NULL AND parent_id IS NULL
                AND owner_id IS NULL))
    ), chain AS (
        SELECT t.id, t.level, t.key_path, t.name, t.path,
            coalesce(t.owner_today = :user, false) AS own,
            ARRAY(SELECT DISTINCT h.permission FROM held h WHERE h.space_id = ANY(t.path_today)) AS permissions
        FROM tree t
        WHERE t.id IN (SELECT unnest(path) FROM target) OR t.owner_today = :user
    )
    SELECT at.system_at, at.now,
        (SELECT path FROM target LIMIT 1) AS target,
        (SELECT jsonb_agg(to_jsonb(chain) ORDER BY cardinality(path), id) FROM chain) AS spaces,
        (SELECT jsonb_object_agg(w.level, w.weight) FROM level_weights w WHERE {known("w", "at.known_at")}) AS weights,
        (SELECT jsonb_agg(jsonb_build_object(
                'id', o.id, 'space_id', o.space_id, 'kind', o.kind, 'provider', o.provider, 'name', o.name,
                'classification', o.classification, 'language', o.language, 'index_version', o.index_version,
                'access_policy', o.access_policy,
                'synced_at', (SELECT max(y.system_from) FROM source_syncs y WHERE {tenant("y")}
                    AND y.source_id = o.id AND y.system_from <= at.known_at)) ORDER BY o.id)
            FROM sources o WHERE {known("o", "at.known_at")} AND o.space_id IN (SELECT id FROM chain)
            AND EXISTS (SELECT FROM sources p WHERE {believed_now("p")} AND p.id = o.id)) AS sources
    FROM at
    """
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What one caller can reach from one space, as the database holds it (JSON already decoded)."""

    clock: datetime
    known_at: datetime
    now: datetime
    target: list[UUID] | None
    spaces: list[dict[str, Any]]
    weights: dict[str, float]
    sources: list[dict[str, Any]]


async def reach(
    session: Session,
    *,
    user: UUID,
    principals: Sequence[UUID],
    space_id: UUID | None,
    key_path: str | None,
    known_at: datetime | None,
) -> Reach | None:
    """None when the organisation does not exist. With neither space id nor key path, the organisation's own space."""
    row = await session.row(
        _REACH,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "space_id": space_id,
            "key_path": key_path,
            "known_at": known_at,
        },
    )
    if row is None:
        return None
    return Reach(
        clock=row.system_at,
        # Not read back: the driver would return the first instant there is as one without an offset.
        known_at=row.system_at if known_at is None else min(known_at, row.system_at),
        now=row.now,
        target=row.target,
        spaces=row.spaces or [],
        weights=row.weights or {},
        sources=row.sources or [],
    )


_GRANTED = text(
    f"""
    SELECT g.permission, array_agg(DISTINCT s.id) AS spaces FROM grants g
    JOIN spaces s ON {believed_now("s")} AND g.space_id = ANY(s.path) AND (s.owner_id IS NULL OR s.owner_id = :user)
    WHERE {believed_now("g")} AND {valid("g", "now()")} AND g.principal_id = ANY(CAST(:principals AS uuid[]))
    GROUP BY g.permission
    """
)


async def granted(session: Session, user: UUID, principals: Sequence[UUID]) -> dict[str, frozenset[UUID]]:
    """Today's permissions of a caller, each with every space it holds in: where it was granted and below, less the
    personal spaces of others."""
    parameters = {"organisation": session.organisation, "user": user, "principals": list(principals)}
    rows = await session.rows(_GRANTED, parameters)
    return {row.permission: frozenset(row.spaces) for row in rows}


_SPACES = text(
    f"""
    SELECT s.id, s.level, s.key_path, s.name, s.path FROM spaces s
    WHERE {believed_now("s")} AND (s.owner_id IS NULL OR s.owner_id = :user) AND s.key_path > :after
    AND (s.owner_id = :user OR EXISTS (SELECT FROM grants g WHERE {believed_now("g")} AND {valid("g", "now()")}
        AND g.principal_id = ANY(CAST(:principals AS uuid[])) AND g.space_id = ANY(s.path)))
    ORDER BY s.key_path LIMIT :limit
    """
)


async def visible_spaces(
    session: Session, user: UUID, principals: Sequence[UUID], after: str, limit: int
) -> Sequence[Any]:
    """Spaces on which the caller holds anything, by key path."""
    return await session.rows(
        _SPACES,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "after": after,
            "limit": limit,
        },
    )


_ORGANISATION = text("SELECT organisation_id FROM organisations o WHERE o.organisation_id = :organisation")
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


_FIND_SPACE = text(
    f"SELECT s.id, s.path, s.key_path, s.level FROM spaces s WHERE {believed_now('s')} AND s.key_path = :key_path"
)
_NEW_SPACE = text(
    "INSERT INTO spaces (organisation_id, id, parent_id, path, key_path, level, name, owner_id, system_from) "
    "VALUES (:organisation, :id, :parent_id, :path, :key_path, :level, :name, :owner_id, :stamp)"
)


async def find_space(session: Session, key_path: str) -> Any | None:
    return await session.row(_FIND_SPACE, {"organisation": session.organisation, "key_path": key_path})


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
    """`parent` is a row of `find_space`; the root has none."""
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


_AT_ROOT = text(
    f"""
    SELECT EXISTS (SELECT FROM grants g JOIN spaces s ON {believed_now("s")} AND s.id = g.space_id
        AND s.parent_id IS NULL AND s.owner_id IS NULL
    WHERE {believed_now("g")} AND {valid("g", "now()")} AND g.permission = :permission
    AND g.principal_id = ANY(CAST(:principals AS uuid[])))
    """
)


async def holds_at_root(session: Session, principals: Sequence[UUID], permission: Permission) -> bool:
    """Whether a permission is held on the organisation's own space, and so everywhere."""
    return bool(
        await session.value(
            _AT_ROOT,
            {
                "organisation": session.organisation,
                "principals": list(principals),
                "permission": permission.value,
            },
        )
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


_PERMITTED = text(
    f"""
    SELECT s.id, s.path, s.key_path, s.level, s.owner_id, ARRAY(SELECT DISTINCT g.permission FROM grants g
        WHERE {believed_now("g")} AND {valid("g", "now()")} AND g.principal_id = ANY(CAST(:principals AS uuid[]))
        AND g.space_id = ANY(s.path)) AS permissions
    FROM spaces s WHERE {believed_now("s")} AND (s.owner_id IS NULL OR s.owner_id = :user)
    AND (s.id = CAST(:space_id AS uuid) OR s.key_path = CAST(:key_path AS text))
    """
)


async def permitted_space(
    session: Session, user: UUID, principals: Sequence[UUID], *, space_id: UUID | None, key_path: str | None
) -> Any | None:
    """One space by id or key path, with what the caller may do there today; None when it is unknown."""
    return await session.row(
        _PERMITTED,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "space_id": space_id,
            "key_path": key_path,
        },
    )
