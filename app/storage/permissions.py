"""What a caller may do today, and where."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Permission
from app.storage.engine import Session
from app.storage.scope import TODAY, believed_now, tenant, valid


def reaches(grant: str, path: str, *, today: bool = True) -> str:
    """A grant counts on a space of that path as far as its holder reaches: people and groups everywhere, a key of a
    program for its actions, in its spaces and below and, `today`, until it is revoked or ends."""
    limits = f"{grant}.permission = ANY(k.actions) AND (k.spaces IS NULL OR k.spaces && {path})"
    return (
        f"NOT EXISTS (SELECT FROM api_keys k WHERE {tenant('k')} AND k.principal_id = {grant}.principal_id "
        f"AND NOT ({limits}{' AND ' + stands('k') if today else ''}))"
    )


def stands(key: str) -> str:
    """A key that is neither revoked nor past its end."""
    return f"{key}.system_to IS NULL AND ({key}.expires_at IS NULL OR {key}.expires_at > now())"


def held(grant: str, path: str) -> str:
    """A grant of today that gives the caller its permission on a space of that path."""
    return (
        f"{believed_now(grant)} AND {valid(grant, TODAY)} AND {grant}.space_id = ANY({path}) "
        f"AND {grant}.principal_id = ANY(CAST(:principals AS uuid[])) AND {reaches(grant, path)}"
    )


_GRANTED = text(
    f"""
    SELECT g.permission, array_agg(DISTINCT s.id) AS spaces FROM grants g
    JOIN spaces s ON {believed_now("s")} AND {held("g", "s.path")} AND (s.owner_id IS NULL OR s.owner_id = :user)
    GROUP BY g.permission
    """
)


async def granted(session: Session, user: UUID, principals: Sequence[UUID]) -> dict[str, frozenset[UUID]]:
    """Today's permissions of a caller, each with every space it holds in: where it was granted and below, less the
    personal spaces of others."""
    parameters = {"organisation": session.organisation, "user": user, "principals": list(principals)}
    rows = await session.rows(_GRANTED, parameters)
    return {row.permission: frozenset(row.spaces) for row in rows}


#: The caller may see the space `s` today: it is their own, or nobody's and they hold anything on it or above.
VISIBLE = f"(s.owner_id = :user OR s.owner_id IS NULL AND EXISTS (SELECT FROM grants g WHERE {held('g', 's.path')}))"
#: What is shown of the space `s`: its parent only to who may see that too.
SHOWN = (
    "s.id, s.level, s.key_path, s.name, s.path, CASE WHEN EXISTS (SELECT FROM grants g "
    f"WHERE {held('g', 'trim_array(s.path, 1)')}) THEN s.parent_id END AS parent_id"
)
_SPACES = text(
    f"SELECT {SHOWN} FROM spaces s WHERE {believed_now('s')} AND s.key_path > :after AND {VISIBLE} "
    "ORDER BY s.key_path LIMIT :limit"
)
_SHOWN = text(f"SELECT {SHOWN} FROM spaces s WHERE {believed_now('s')} AND s.id = CAST(:space AS uuid) AND {VISIBLE}")


async def shown_space(session: Session, user: UUID, principals: Sequence[UUID], space: UUID) -> Any | None:
    """One space as `visible_spaces` lists it; None when the caller may not see it."""
    return await session.row(
        _SHOWN, {"organisation": session.organisation, "user": user, "principals": list(principals), "space": space}
    )


_VISIBLE_AMONG = text(
    f"SELECT s.id FROM spaces s WHERE {believed_now('s')} AND s.id = ANY(CAST(:spaces AS uuid[])) AND {VISIBLE}"
)


async def visible_among(
    session: Session, user: UUID, principals: Sequence[UUID], spaces: Sequence[UUID]
) -> frozenset[UUID]:
    """Those of some spaces that the caller may see today."""
    rows = await session.rows(
        _VISIBLE_AMONG,
        {
            "organisation": session.organisation,
            "user": user,
            "principals": list(principals),
            "spaces": list(spaces),
        },
    )
    return frozenset(row.id for row in rows)


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


_AT_ROOT = text(
    f"""
    SELECT EXISTS (SELECT FROM grants g JOIN spaces s ON {believed_now("s")} AND s.parent_id IS NULL
        AND s.owner_id IS NULL AND {held("g", "s.path")} WHERE g.permission = :permission)
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


_PERMITTED = text(
    f"""
    SELECT s.id, s.path, s.key_path, s.level, s.name, s.owner_id, ARRAY(SELECT DISTINCT g.permission FROM grants g
        WHERE {held("g", "s.path")}) AS permissions
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


_NEAREST = text(
    f"""
    SELECT s.id, s.path, s.key_path, s.level, s.name, s.owner_id, ARRAY(SELECT DISTINCT g.permission FROM grants g
        WHERE {held("g", "s.path")}) AS permissions
    FROM spaces s WHERE {believed_now("s")} AND s.key_path = ANY(CAST(:key_paths AS text[]))
    ORDER BY cardinality(s.path) DESC LIMIT 1
    """
)


async def nearest_space(session: Session, principals: Sequence[UUID], key_paths: Sequence[str]) -> Any | None:
    """The deepest space there is of some key paths, whoever may see it, with what the caller may do there."""
    return await session.row(
        _NEAREST,
        {"organisation": session.organisation, "principals": list(principals), "key_paths": list(key_paths)},
    )
