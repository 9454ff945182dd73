"""Reading memories as of any point of both clocks."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from app.domain.errors import bad_input
from app.domain.memory import Owner
from app.domain.principal import Permission, Principal
from app.identity.spaces import named_space, permitted
from app.memory.people import group_named, subject_named
from app.memory.resolve import Named, known_memory, near
from app.storage import memories, reading
from app.storage.engine import Database
from app.storage.memories import FIRST_ID, Listed


async def read_memory(
    database: Database, principal: Principal, id: str, as_of: datetime | None, known_at: datetime | None
) -> Listed | None:
    """What was believed then; None when nothing was. NOT_FOUND when there is no such memory for this caller."""
    async with database.snapshot(principal.organisation) as session:
        memory, _ = await known_memory(session, principal, id, Permission.READ)
        found = await memories.at(session, [memory], *await reading.point(session, as_of, known_at))
    return found[0] if found else None


async def list_memories(
    database: Database,
    principal: Principal,
    named: Named,
    as_of: datetime | None,
    known_at: datetime | None,
    *,
    after: UUID = FIRST_ID,
    limit: int,
) -> Sequence[Listed]:
    """An owner's memories, by id. A subject or a group that is unknown to the caller has none."""
    if named.subject_id is not None and named.group_key is not None:
        raise bad_input("ask for a subject's memories or for a group's, not for both", "groupKey")
    async with database.snapshot(principal.organisation) as session:
        if named.subject_id is not None:
            subject = await subject_named(session, principal, named.subject_id, await near(session, principal, named))
            if subject is None:
                return []
            space = await permitted(session, principal, Permission.READ, space_id=subject.space_id)
            owner = Owner(space, subject_id=subject.id)
        elif named.group_key is not None:
            group = await group_named(session, principal, named.group_key, await near(session, principal, named))
            if group is None:
                return []
            space = await permitted(session, principal, Permission.READ, space_id=group.space_id)
            owner = Owner(space, group_id=group.id)
        else:
            owner = Owner(
                await named_space(
                    session, principal, Permission.READ, space_id=named.space_id, space_key=named.space_key
                )
            )
        valid_at, known = await reading.point(session, as_of, known_at)
        return await memories.owned(session, owner, valid_at, known, after, limit)
