"""From the caller's words to a memory's owner, or to a memory that is there; with the permission that it needs."""

from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.memory import Owner
from app.domain.principal import Permission, Principal, parse_id
from app.identity.spaces import NOWHERE, nearest_first, permitted
from app.identity.tree import named_or_new_space
from app.memory.people import ensure_subject, group_named, group_not_found, subject_named
from app.storage import memories
from app.storage.engine import Session, WriteSession


@dataclass(frozen=True, slots=True)
class Named:
    """Whose memory it is to be, in the caller's words: a subject's, a group's, or the space's own."""

    subject_id: str | None = None
    group_key: str | None = None
    space_id: str | None = None
    space_key: str | None = None


async def resolve_owner(
    session: WriteSession, principal: Principal, named: Named, permission: Permission = Permission.MEMORY_WRITE
) -> Owner:
    """The owner. A subject that the caller may see nowhere is made in the named space, and a space of an unknown key
    where they may write (`identity.tree`). NOT_FOUND, SPACE_NOT_FOUND or FORBIDDEN otherwise; CONFLICT when several go
    by the name (`domain.naming`)."""
    if named.subject_id is not None and named.group_key is not None:
        raise bad_input("a memory belongs to a subject or to a group, not to both", "groupKey")
    if named.group_key is not None:
        group = await group_named(session, principal, named.group_key, await near(session, principal, named))
        if group is None:
            raise group_not_found()
        await permitted(session, principal, permission, space_id=group.space_id)
        return Owner(group.space_id, group_id=group.id)
    if named.subject_id is not None:
        known = await subject_named(session, principal, named.subject_id, await near(session, principal, named))
        if known is not None:
            await permitted(session, principal, permission, space_id=known.space_id)
            return Owner(known.space_id, subject_id=known.id)
    space = await named_or_new_space(session, principal, permission, space_id=named.space_id, space_key=named.space_key)
    if named.subject_id is None:
        return Owner(space)
    return Owner(space, subject_id=(await ensure_subject(session, named.subject_id, space)).id)


async def near(session: Session, principal: Principal, named: Named) -> tuple[UUID, ...]:
    """Where to look for a name first. A space of a key that is not there yet is near to nothing."""
    try:
        return await nearest_first(session, principal, space_id=named.space_id, space_key=named.space_key)
    except MunimentError as error:
        if error.code is not Code.SPACE_NOT_FOUND or named.space_id is not None:
            raise
        return ()


async def known_memory(session: Session, principal: Principal, id: str, permission: Permission) -> tuple[UUID, Owner]:
    """NOT_FOUND when it is unknown, malformed, or in a space that the caller may not see."""
    memory = parse_id(id)
    owner = None if memory is None else await memories.find_owner(session, memory)
    space = NOWHERE if owner is None else owner.space_id
    await permitted(session, principal, permission, space_id=space, missing=memory_not_found())
    if memory is None or owner is None:
        raise memory_not_found()
    return memory, owner


def memory_not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such memory", "id")
