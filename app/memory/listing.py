"""The subjects and groups of a space, for who reads there."""

from collections.abc import Sequence

from app.domain.principal import Permission, Principal
from app.identity.spaces import named_space
from app.storage import subjects
from app.storage.engine import Database
from app.storage.subjects import Group, NamedSubject


async def list_subjects(
    database: Database, principal: Principal, *, space_id: str | None, space_key: str | None, after: str, limit: int
) -> Sequence[NamedSubject]:
    """The subjects that belong to the space itself, in the order of their names' bytes; for its administrators:
    a name may be a person's."""
    async with database.snapshot(principal.organisation) as session:
        space = await named_space(session, principal, Permission.ADMIN, space_id=space_id, space_key=space_key)
        return await subjects.listed_subjects(session, space, after, limit)


async def list_groups(
    database: Database, principal: Principal, *, space_id: str | None, space_key: str | None, after: str, limit: int
) -> Sequence[Group]:
    """The groups of the space itself, by key."""
    async with database.snapshot(principal.organisation) as session:
        space = await named_space(session, principal, Permission.READ, space_id=space_id, space_key=space_key)
        return await subjects.listed_groups(session, space, after, limit)
