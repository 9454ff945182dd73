"""Subjects, groups, memberships, and forgetting a subject."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.domain.canonical import canonical
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.instant import format_instant
from app.domain.memory import membership_id, pseudonym
from app.domain.naming import meant
from app.domain.principal import Permission, Principal
from app.domain.temporal import Assert, Op, Period, Retract
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import named_space, nearest_first, permitted, visible_among
from app.providers.ids import new_id
from app.storage import queue, subjects
from app.storage.engine import Database, Session, WriteSession
from app.storage.subjects import MEMBERSHIPS, Group, NamedSubject, Subject

ERASURE_CATEGORY = "subject_erasure"
MAX_NAME = 256


def check_name(value: str, field: str) -> str:
    """A client's own name for something: short, and free of what no store keeps."""
    if not 0 < len(value) <= MAX_NAME or "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise bad_input(f"1 to {MAX_NAME} characters, without NUL", field)
    return value


async def ensure_subject(session: WriteSession, external_id: str, space: UUID) -> Subject:
    """The subject of that name in the space, made when it is new there."""
    for found in await subjects.find_subjects(session, external_id):
        if found.space_id == space:
            return found
    subject = Subject(new_id(), external_id, space, secrets.token_bytes(32))
    await subjects.create_subject(session, subject)
    return subject


async def subject_named(session: Session, principal: Principal, name: str, near: Sequence[UUID]) -> Subject | None:
    """The subject of that name that is meant, among those that the caller may see (`domain.naming`)."""
    found = await subjects.find_subjects(session, check_name(name, "subjectId"))
    return meant(found, await visible_among(session, principal, found), near, "subjectId")


async def group_named(session: Session, principal: Principal, key: str, near: Sequence[UUID]) -> Group | None:
    """The same for a group."""
    found = await subjects.find_groups(session, check_name(key, "groupKey"))
    return meant(found, await visible_among(session, principal, found), near, "groupKey")


async def create_subject(
    database: Database,
    principal: Principal,
    subject_id: str,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> NamedSubject:
    """Make a subject in a space, the organisation's own by default; the same again is the same subject."""
    check_name(subject_id, "subjectId")
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        space = await named_space(session, principal, Permission.MEMORY_WRITE, space_id=space_id, space_key=space_key)

        async def work() -> Outcome:
            subject = await ensure_subject(session, subject_id, space)
            return Outcome({"subjectId": subject_id, "id": str(subject.id)}, subject.id)

        made = await once(session, principal, client_key, {"createSubject": subject_id, "space": str(space)}, work)
        # What an earlier version did under a client's key is kept without the id.
        id = UUID(made["id"]) if "id" in made else (await ensure_subject(session, subject_id, space)).id
    return NamedSubject(id, subject_id, space)


async def create_group(
    database: Database,
    principal: Principal,
    key: str,
    name: str | None = None,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> Group:
    """Make a group in a space; the same key in the same space again is the same group."""
    check_name(key, "key")
    name = check_name(key if name is None else name, "name")
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        space = await named_space(session, principal, Permission.MEMORY_WRITE, space_id=space_id, space_key=space_key)

        async def work() -> Outcome:
            known = await subjects.find_groups(session, key)
            found = next((group for group in known if group.space_id == space), None)
            if found is None:
                found = Group(new_id(), key, name, space)
                await subjects.create_group(session, found)
            return Outcome({"id": str(found.id), "key": found.key, "name": found.name, "space": str(found.space_id)})

        made = await once(session, principal, client_key, {"createGroup": key, "name": name, "space": str(space)}, work)
    return Group(UUID(made["id"]), made["key"], made["name"], UUID(made["space"]))


async def set_membership(
    database: Database,
    principal: Principal,
    group_key: str,
    subject_id: str,
    *,
    verified: bool,
    member: bool = True,
    period: Period,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> UUID:
    """Say whether a subject belongs to a group for a period, verified or not; the id of the fact. The space tells which
    are meant where several go by a name."""
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        near = await nearest_first(session, principal, space_id=space_id, space_key=space_key)
        group = await _group(session, principal, group_key, near)
        subject = await _subject(session, principal, subject_id, Permission.MEMORY_WRITE, near)
        fact = membership_id(group.id, subject.id)

        async def work() -> Outcome:
            said: Op[bool] = Assert(period, verified) if member else Retract(period)
            await MEMBERSHIPS.change(session, fact, said, group_id=group.id, subject_id=subject.id)
            return Outcome({"id": str(fact)}, subject.id)

        call = {
            "group": str(group.id),
            "subject": str(subject.id),
            "verified": verified,
            "member": member,
            "period": str(period),
        }
        await once(session, principal, client_key, {"setGroupMembership": call}, work)
    return fact


async def forget_subject(
    database: Database,
    principal: Principal,
    subject_id: str,
    *,
    space_id: str | None = None,
    space_key: str | None = None,
    client_key: str | None = None,
) -> int:
    """Erase everything held of a subject and append a tombstone to the chain; the number of memories erased.

    Evidence keeps the subject's pseudonym, whose key is gone with the subject: the chain still verifies.
    """
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:

        async def work() -> Outcome:
            near = await nearest_first(session, principal, space_id=space_id, space_key=space_key)
            subject = await _subject(session, principal, subject_id, Permission.ADMIN, near)
            erased = await subjects.forget(session, subject.id)
            id = new_id()
            await queue.enqueue(session, id, canonical(_tombstone(session, principal, id, subject, erased)))
            return Outcome({"erased": erased})

        call = {"forgetSubject": subject_id, "space": space_id or space_key}
        made = await once(session, principal, client_key, call, work)
    erased: int = made["erased"]
    return erased


def _tombstone(session: WriteSession, principal: Principal, id: UUID, subject: Subject, erased: int) -> dict[str, Any]:
    return {
        "category": ERASURE_CATEGORY,
        "id": str(id),
        "attributionId": str(id),
        "requestId": str(id),
        "organisationId": str(principal.organisation),
        "userId": str(principal.id),
        "spaceId": str(subject.space_id),
        "subjectPseudonym": pseudonym(subject.pseudonym_key, subject.external_id),
        "erasedMemories": erased,
        "erasedAt": format_instant(session.stamp),
        "issuedAt": format_instant(datetime.now(UTC)),
    }


async def _subject(
    session: WriteSession, principal: Principal, name: str, permission: Permission, near: Sequence[UUID]
) -> Subject:
    """NOT_FOUND when it is unknown or in a space that the caller may not see, FORBIDDEN without the permission."""
    found = await subject_named(session, principal, name, near)
    if found is None:
        raise MunimentError(Code.NOT_FOUND, "no such subject", "subjectId")
    await permitted(session, principal, permission, space_id=found.space_id)
    return found


async def _group(session: WriteSession, principal: Principal, key: str, near: Sequence[UUID]) -> Group:
    """The same for a group whose members the caller may name."""
    found = await group_named(session, principal, key, near)
    if found is None:
        raise group_not_found()
    await permitted(session, principal, Permission.MEMORY_WRITE, space_id=found.space_id)
    return found


def group_not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such group", "groupKey")
