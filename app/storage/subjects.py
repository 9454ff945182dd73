"""Subjects, groups and who belongs to which; and forgetting a subject for good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from app.domain.principal import Permission
from app.storage.engine import AnyRow, Session, WriteSession
from app.storage.facts import Family
from app.storage.permissions import reaches
from app.storage.scope import believed_now, known, tenant, valid


@dataclass(frozen=True, slots=True)
class Subject:
    id: UUID
    external_id: str
    space_id: UUID
    pseudonym_key: bytes


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """A subject as its space's administrators see it."""

    id: UUID
    external_id: str
    space_id: UUID


@dataclass(frozen=True, slots=True)
class Group:
    id: UUID
    key: str
    name: str
    space_id: UUID


@dataclass(frozen=True, slots=True)
class Reachable:
    subject: Subject
    groups: list[UUID]

    @property
    def space_id(self) -> UUID:
        return self.subject.space_id


def _encode(verified: bool) -> Mapping[str, Any]:
    return {"verified": verified}


def _decode(row: AnyRow) -> bool:
    return bool(row.verified)


#: Whether a subject's membership of a group is verified.
MEMBERSHIPS: Family[bool] = Family("memberships", "membership_id", {"verified": ""}, _encode, _decode)

_SUBJECT = text(
    f"SELECT s.id, s.external_id, s.space_id, s.pseudonym_key FROM subjects s WHERE {tenant('s')} "
    "AND s.external_id = :external_id ORDER BY s.space_id"
)
_NEW_SUBJECT = text(
    "INSERT INTO subjects (organisation_id, id, external_id, space_id, pseudonym_key, system_from) "
    "VALUES (:organisation, :id, :external_id, :space, :key, :stamp)"
)
_GROUP = text(
    f"SELECT g.id, g.key, g.name, g.space_id FROM groups g WHERE {tenant('g')} AND g.key = :key ORDER BY g.space_id"
)
_GROUP_BY_ID = text(f"SELECT g.id, g.key, g.name, g.space_id FROM groups g WHERE {tenant('g')} AND g.id = :id")
_NEW_GROUP = text(
    "INSERT INTO groups (organisation_id, id, key, name, space_id, system_from) "
    "VALUES (:organisation, :id, :key, :name, :space, :stamp)"
)


async def find_subjects(session: Session, external_id: str) -> list[Subject]:
    """Those of all spaces that go by the client's own name, compared whole."""
    rows = await session.rows(_SUBJECT, {"organisation": session.organisation, "external_id": external_id})
    return [Subject(*row) for row in rows]


async def create_subject(session: WriteSession, subject: Subject) -> None:
    await session.run(
        _NEW_SUBJECT,
        {
            "organisation": session.organisation,
            "id": subject.id,
            "external_id": subject.external_id,
            "space": subject.space_id,
            "key": subject.pseudonym_key,
            "stamp": session.stamp,
        },
    )


async def find_groups(session: Session, key: str) -> list[Group]:
    """Those of all spaces that have the key."""
    return [Group(*row) for row in await session.rows(_GROUP, {"organisation": session.organisation, "key": key})]


async def group_by_id(session: Session, id: UUID) -> Group | None:
    row = await session.row(_GROUP_BY_ID, {"organisation": session.organisation, "id": id})
    return None if row is None else Group(row.id, row.key, row.name, row.space_id)


async def create_group(session: WriteSession, group: Group) -> None:
    await session.run(
        _NEW_GROUP,
        {
            "organisation": session.organisation,
            "id": group.id,
            "key": group.key,
            "name": group.name,
            "space": group.space_id,
            "stamp": session.stamp,
        },
    )


_SUBJECTS = text(
    f"SELECT s.id, s.external_id, s.space_id FROM subjects s WHERE {tenant('s')} AND s.space_id = :space "
    'AND s.external_id COLLATE "C" > :after ORDER BY s.external_id COLLATE "C" LIMIT :limit'
)
_GROUPS = text(
    f"SELECT g.id, g.key, g.name, g.space_id FROM groups g WHERE {tenant('g')} AND g.space_id = :space "
    'AND g.key COLLATE "C" > :after ORDER BY g.key COLLATE "C" LIMIT :limit'
)


async def listed_subjects(session: Session, space: UUID, after: str, limit: int) -> list[NamedSubject]:
    """A space's subjects, in the order of the bytes of their names."""
    named = {"organisation": session.organisation, "space": space, "after": after, "limit": limit}
    return [NamedSubject(*row) for row in await session.rows(_SUBJECTS, named)]


async def listed_groups(session: Session, space: UUID, after: str, limit: int) -> list[Group]:
    """A space's groups, by key."""
    named = {"organisation": session.organisation, "space": space, "after": after, "limit": limit}
    return [Group(*row) for row in await session.rows(_GROUPS, named)]


def _may_search(space: str) -> str:
    """The caller may search in a space today: their own, or one of nobody's that they were granted it in or above."""
    return (
        f"EXISTS (SELECT FROM spaces p WHERE {believed_now('p')} AND p.id = {space} AND (p.owner_id = :user "
        f"OR p.owner_id IS NULL AND EXISTS (SELECT FROM grants r WHERE {believed_now('r')} AND {valid('r', ':now')} "
        f"AND r.space_id = ANY(p.path) AND r.permission = '{Permission.SEARCH.value}' "
        f"AND r.principal_id = ANY(CAST(:principals AS uuid[])) AND {reaches('r', 'p.path')})))"
    )


# A membership counts when it was verified and held at the point that is read, and still is and does today: old clocks
# never widen access.
_REACHABLE = text(
    f"""
    SELECT s.id, s.external_id, s.space_id, s.pseudonym_key,
        ARRAY(SELECT g.id FROM memberships m JOIN groups g ON {tenant("g")} AND g.id = m.group_id
            WHERE {known("m")} AND {valid("m")} AND m.verified AND m.subject_id = s.id
            AND EXISTS (SELECT FROM memberships t WHERE {believed_now("t")} AND {valid("t", ":now")} AND t.verified
                AND t.membership_id = m.membership_id)
            AND {_may_search("g.space_id")} ORDER BY g.id) AS groups
    FROM subjects s WHERE {tenant("s")} AND s.external_id = :external_id AND s.system_from <= :known_at
        AND {_may_search("s.space_id")} ORDER BY s.space_id
    """
)


async def reachable(
    session: Session,
    external_id: str,
    *,
    user: UUID,
    principals: Sequence[UUID],
    valid_at: datetime,
    known_at: datetime,
    now: datetime,
) -> list[Reachable]:
    """The subjects of that name that are the caller's to ask for, each with the groups whose memories count for it."""
    rows = await session.rows(
        _REACHABLE,
        {
            "organisation": session.organisation,
            "external_id": external_id,
            "user": user,
            "principals": list(principals),
            "valid_at": valid_at,
            "known_at": known_at,
            "now": now,
        },
    )
    return [Reachable(Subject(*row[:4]), list(row.groups)) for row in rows]


_OF = f"IN (SELECT m.id FROM memories m WHERE {tenant('m')} AND m.subject_id = :subject)"
_FORGET = [
    text(f"DELETE FROM memory_embeddings f WHERE {tenant('f')} AND f.memory_id {_OF}"),
    text(f"DELETE FROM memory_accesses f WHERE {tenant('f')} AND f.memory_id {_OF}"),
    text(f"DELETE FROM memory_proposals f WHERE {tenant('f')} AND f.memory_id {_OF}"),
    text(f"DELETE FROM memory_versions f WHERE {tenant('f')} AND f.subject_id = :subject"),
    text(f"DELETE FROM memberships f WHERE {tenant('f')} AND f.subject_id = :subject"),
    text(f"DELETE FROM client_keys f WHERE {tenant('f')} AND f.subject_id = :subject"),
    text(f"DELETE FROM subjects f WHERE {tenant('f')} AND f.id = :subject"),
]
_FORGET_MEMORIES = text(f"DELETE FROM memories f WHERE {tenant('f')} AND f.subject_id = :subject")


async def forget(session: WriteSession, subject: UUID) -> int:
    """Delete everything that is held of a subject, its pseudonym's key too; the number of its memories."""
    named = {"organisation": session.organisation, "subject": subject}
    for statement in _FORGET:
        await session.run(statement, named)
    return await session.run(_FORGET_MEMORIES, named)
