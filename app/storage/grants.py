"""Grants as facts on both clocks: changing them, listing them, and what stands behind them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.grant import Grantee, GranteeKind
from app.domain.principal import Permission
from app.domain.temporal import Period
from app.storage.engine import AnyRow, Session
from app.storage.facts import Family
from app.storage.permissions import reaches
from app.storage.scope import believed_now, known, tenant, valid


def _encode(granted_by: UUID | None) -> Mapping[str, Any]:
    return {"granted_by": granted_by}


def _decode(row: AnyRow) -> UUID | None:
    granted_by: UUID | None = row.granted_by
    return granted_by


#: Who granted it; None is the operator of the deployment. Every row carries principal_id, space_id and permission.
GRANTS: Family[UUID | None] = Family("grants", "grant_id", {"granted_by": "uuid"}, _encode, _decode, derived=True)


@dataclass(frozen=True, slots=True)
class Grant:
    """One version. `id` is that of the fact. `grantee` is None where no name of the principal was ever stored."""

    id: UUID
    version_id: UUID
    principal_id: UUID
    grantee: Grantee | None
    space_id: UUID
    permission: Permission
    granted_by: UUID | None
    valid: Period
    system: Period


_COLUMNS = (
    "g.grant_id, g.id, g.principal_id, p.kind, p.external_id, g.space_id, g.permission, g.granted_by, "
    "g.valid_from, g.valid_to, g.system_from, g.system_to"
)
# The name of a principal never changes, so today's is that of any time.
_NAMED = f"grants g LEFT JOIN principals p ON {believed_now('p')} AND p.id = g.principal_id"
_LISTED = text(
    f"SELECT {_COLUMNS} FROM {_NAMED} WHERE {known('g')} AND {valid('g')} AND g.space_id = CAST(:space AS uuid) "
    "AND (CAST(:principal AS uuid) IS NULL OR g.principal_id = CAST(:principal AS uuid)) "
    "AND g.id > :after ORDER BY g.id LIMIT :limit"
)
_KNOWN = text(
    f"SELECT {_COLUMNS} FROM {_NAMED} WHERE {known('g')} AND g.grant_id = ANY(CAST(:facts AS uuid[])) "
    "ORDER BY g.permission, g.valid_from NULLS FIRST"
)


async def listed(
    session: Session,
    space: UUID,
    principal: UUID | None,
    valid_at: datetime,
    known_at: datetime,
    after: UUID,
    limit: int,
) -> list[Grant]:
    """What was granted on the space itself, as believed to hold then, by version; to one principal, where one is
    named."""
    rows = await session.rows(
        _LISTED,
        {
            "organisation": session.organisation,
            "space": space,
            "principal": principal,
            "valid_at": valid_at,
            "known_at": known_at,
            "after": after,
            "limit": limit,
        },
    )
    return [_grant(row) for row in rows]


async def known_of(session: Session, facts: Sequence[UUID], known_at: datetime) -> list[Grant]:
    """Everything that was believed of some grants at a point of system time, by permission, then in valid order."""
    rows = await session.rows(
        _KNOWN, {"organisation": session.organisation, "facts": list(facts), "known_at": known_at}
    )
    return [_grant(row) for row in rows]


_HELD = text(
    f"""
    SELECT g.permission, g.valid_from, g.valid_to FROM spaces s JOIN grants g ON {believed_now("g")}
        AND g.space_id = ANY(s.path) AND g.principal_id = ANY(CAST(:principals AS uuid[])) AND {reaches("g", "s.path")}
    WHERE {believed_now("s")} AND s.id = CAST(:space AS uuid)
    """
)


async def held(session: Session, principals: Sequence[UUID], space: UUID) -> Mapping[str, list[Period]]:
    """For which valid periods a caller holds what on a space, granted there or above."""
    periods: dict[str, list[Period]] = defaultdict(list)
    for row in await session.rows(
        _HELD, {"organisation": session.organisation, "principals": list(principals), "space": space}
    ):
        periods[row.permission].append(Period(row.valid_from, row.valid_to))
    return periods


_ADMINS = text(
    f"""
    SELECT g.valid_from, g.valid_to FROM grants g JOIN spaces s ON {believed_now("s")} AND s.id = g.space_id
        AND s.parent_id IS NULL AND s.owner_id IS NULL
    WHERE {believed_now("g")} AND g.permission = '{Permission.ORG_ADMIN.value}' AND NOT EXISTS (SELECT FROM principals p
        WHERE {tenant("p")} AND p.id = g.principal_id AND p.kind = '{GranteeKind.KEY.value}')
    """
)


async def administered(session: Session) -> list[Period]:
    """When the organisation has an administrator, a person or a group: a key may be revoked at any time."""
    rows = await session.rows(_ADMINS, {"organisation": session.organisation})
    return [Period(row.valid_from, row.valid_to) for row in rows]


def _grant(row: AnyRow) -> Grant:
    fact, version, principal, kind, name, space, permission, granted_by, *clocks = row
    return Grant(
        fact,
        version,
        principal,
        None if kind is None else Grantee(GranteeKind(kind), name),
        space,
        Permission(permission),
        granted_by,
        Period(*clocks[:2]),
        Period(*clocks[2:]),
    )
