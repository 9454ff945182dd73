"""Keys of programs. What of a key is secret is kept as a hash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import ActorType
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.permissions import stands
from app.storage.scope import believed_now, tenant


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `spaces` and `providers`: None admits all, empty none."""

    id: UUID
    principal_id: UUID
    prefix: str
    name: str
    actions: tuple[str, ...]
    providers: tuple[str, ...] | None
    spaces: tuple[UUID, ...] | None
    actor_type: ActorType
    made_by: UUID | None
    expires_at: datetime | None
    used_at: datetime | None
    made_at: datetime
    revoked_at: datetime | None


_COLUMNS = (
    "k.id, k.principal_id, k.prefix, k.name, k.actions, k.providers, k.spaces, k.actor_type, k.made_by, k.expires_at, "
    "k.used_at, k.system_from, k.system_to"
)
_FIND = text(
    f"SELECT {_COLUMNS}, k.secret_sha256 FROM api_keys k WHERE {tenant('k')} AND k.prefix = :prefix AND {stands('k')}"
)
_BY_ID = text(f"SELECT {_COLUMNS} FROM api_keys k WHERE {tenant('k')} AND k.id = :id")
_STORE = text(
    "INSERT INTO api_keys (organisation_id, id, principal_id, prefix, secret_sha256, name, actions, providers, spaces, "
    "actor_type, made_by, expires_at, system_from) VALUES (:organisation, :id, :principal_id, :prefix, :secret_sha256, "
    ":name, CAST(:actions AS text[]), CAST(:providers AS text[]), CAST(:spaces AS uuid[]), :actor_type, "
    "CAST(:made_by AS uuid), CAST(:expires_at AS timestamptz), :stamp) ON CONFLICT DO NOTHING"
)
# A page of those that lie wholly in some spaces (NULL: of all), by id.
_LISTED = text(
    f"SELECT {_COLUMNS} FROM api_keys k WHERE {tenant('k')} AND (CAST(:within AS uuid[]) IS NULL "
    "OR (k.spaces <@ CAST(:within AS uuid[]) AND cardinality(k.spaces) > 0)) AND (:revoked OR k.system_to IS NULL) "
    "AND (CAST(:after AS uuid) IS NULL OR k.id > CAST(:after AS uuid)) ORDER BY k.id LIMIT :limit"
)
# A key and those that were made with it, and with those.
_FAMILY = """
    WITH RECURSIVE family AS (
        SELECT k.id, k.principal_id FROM api_keys k WHERE {own} AND k.id = CAST(:id AS uuid)
        UNION SELECT k.id, k.principal_id FROM api_keys k JOIN family f ON k.made_by = f.principal_id WHERE {own}
    )
""".format(own=tenant("k"))
# Of who made a key first of all: those that stand of all that came of it, whoever of them asks.
_STANDING = text(
    f"""
    WITH RECURSIVE above AS (
        SELECT CAST(:maker AS uuid) AS id
        UNION SELECT k.made_by FROM api_keys k JOIN above a ON k.principal_id = a.id
        WHERE {tenant("k")} AND k.made_by IS NOT NULL
    ), below AS (
        SELECT a.id FROM above a
        UNION SELECT k.principal_id FROM api_keys k JOIN below b ON k.made_by = b.id WHERE {tenant("k")}
    )
    SELECT count(*) AS standing FROM api_keys k JOIN below b ON k.principal_id = b.id
    WHERE {tenant("k")} AND {stands("k")}
    """
)
_MEMBERS = text(f"{_FAMILY} SELECT id FROM family")
_REVOKE = text(
    f"{_FAMILY} UPDATE api_keys k SET system_to = :stamp FROM family f WHERE {believed_now('k')} AND k.id = f.id "
    "RETURNING k.id"
)
_USED = text(
    "UPDATE api_keys k SET used_at = greatest(k.used_at, u.at) FROM unnest(CAST(:ids AS uuid[]), "
    f"CAST(:instants AS timestamptz[])) AS u (id, at) WHERE {tenant('k')} AND k.id = u.id"
)


async def find(session: Session, prefix: str) -> tuple[ApiKey, bytes] | None:
    """A key that stands, and the hash of its secret."""
    row = await session.row(_FIND, {"organisation": session.organisation, "prefix": prefix})
    return None if row is None else (_key(row), row.secret_sha256)


async def by_id(session: Session, id: UUID) -> ApiKey | None:
    row = await session.row(_BY_ID, {"organisation": session.organisation, "id": id})
    return None if row is None else _key(row)


async def store(session: WriteSession, key: Mapping[str, Any]) -> bool:
    """False when the prefix is taken."""
    return bool(await session.run(_STORE, {"organisation": session.organisation, "stamp": session.stamp, **key}))


async def listed(
    session: Session, within: Sequence[UUID] | None, *, revoked: bool, after: UUID | None, limit: int
) -> list[ApiKey]:
    rows = await session.rows(
        _LISTED,
        {
            "organisation": session.organisation,
            "within": None if within is None else list(within),
            "revoked": revoked,
            "after": after,
            "limit": limit,
        },
    )
    return [_key(row) for row in rows]


async def family(session: Session, id: UUID) -> frozenset[UUID]:
    """A key and those that were made with it."""
    rows = await session.rows(_MEMBERS, {"organisation": session.organisation, "id": id})
    return frozenset(row.id for row in rows)


async def standing_of(session: Session, maker: UUID) -> int:
    """The keys that stand of a maker, with those that were made with these; for a key, of who made it first of all."""
    row = await session.row(_STANDING, {"organisation": session.organisation, "maker": maker})
    assert row is not None
    count: int = row.standing
    return count


async def revoke(session: WriteSession, id: UUID) -> list[UUID]:
    """A key, and those that were made with it, end with the session's instant. The ids of those that stood."""
    rows = await session.rows(_REVOKE, {"organisation": session.organisation, "id": id, "stamp": session.stamp})
    return [row.id for row in rows]


async def note_use(session: Session, used: Mapping[UUID, datetime]) -> None:
    await session.run(_USED, {"organisation": session.organisation, "ids": list(used), "instants": list(used.values())})


def _key(row: AnyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        principal_id=row.principal_id,
        prefix=row.prefix,
        name=row.name,
        actions=tuple(row.actions),
        providers=None if row.providers is None else tuple(row.providers),
        spaces=None if row.spaces is None else tuple(row.spaces),
        actor_type=ActorType(row.actor_type),
        made_by=row.made_by,
        expires_at=row.expires_at,
        used_at=row.used_at,
        made_at=row.system_from,
        revoked_at=row.system_to,
    )
