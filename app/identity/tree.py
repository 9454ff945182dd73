"""Growing the tree of spaces. Reads are strict and make nothing; here a space is made, or found or made.

Spaces are answered as rows of `permissions.visible_spaces`.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.principal import Level, Permission, Principal, Space
from app.domain.space_tree import (
    ROOT_KEY,
    check_key,
    check_level,
    check_name,
    check_path,
    default_level,
    join_keys,
    levels_of_path,
    parse_key_path,
    split_keys,
)
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import named_space, named_visible, space_not_found
from app.providers.ids import new_id
from app.storage import permissions, tenancy
from app.storage.engine import Database, Session, WriteSession


async def create_space(
    database: Database,
    principal: Principal,
    *,
    parent_id: str | None = None,
    parent_key: str | None = None,
    key: str,
    name: str | None = None,
    level: Level | None = None,
    client_key: str | None = None,
) -> Any:
    """A new space below one on which the caller holds `context:space:admin`, the organisation's own by default.

    CONFLICT when there is a space of that key path. BAD_USER_INPUT for a key, a name or a level that cannot be.
    """
    check_key(key)
    name = check_name(key if name is None else name)
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        parent_space = await named_space(
            session, principal, Permission.ADMIN, space_id=parent_id, space_key=parent_key, field="parent"
        )
        parent = await tenancy.space_by_id(session, parent_space)
        above = Level(parent.level)
        level = check_level(default_level(above) if level is None else level, above)
        keys = (*split_keys(parent.key_path), key)
        check_path(keys, "key")

        async def work() -> Outcome:
            if await tenancy.find_space(session, join_keys(keys)) is not None:
                raise MunimentError(Code.CONFLICT, "there is a space of that key path already", "key")
            return Outcome({"id": str((await _make(session, parent, keys, name, level)).id)})

        call = {"createSpace": key, "parent": str(parent_space), "name": name, "level": level}
        return await _shown(session, principal, await once(session, principal, client_key, call, work))


async def ensure_space(
    database: Database,
    principal: Principal,
    key_path: str,
    *,
    name: str | None = None,
    level: Level | None = None,
    client_key: str | None = None,
) -> Any:
    """The space of that key path, found as it is, or made with the ancestors that it lacks.

    SPACE_NOT_FOUND when it, or the nearest ancestor that there is, is not the caller's to see; FORBIDDEN when they may
    not write there. `name` and `level` are those of a space that is made.
    """
    if name is not None:
        check_name(name)
    check_client_key(client_key)
    async with database.snapshot(principal.organisation) as read:
        found = await _found(read, principal, key_path)
        if found is not None and client_key is None:
            return await permissions.shown_space(read, principal.id, principal.identities, found)
    # A space that is there need not have a key that could be given today, such as a personal one.
    keys = () if found is not None else parse_key_path(key_path)
    async with database.write(principal.organisation) as session:

        async def work() -> Outcome:
            if found is not None:
                return Outcome({"id": str(found)})
            nearest = await _nearest(session, principal, keys)
            if len(nearest.path) <= len(keys) and Permission.WRITE.value not in nearest.permissions:
                raise MunimentError(
                    Code.FORBIDDEN, f"this needs {Permission.WRITE} on the nearest space that there is", "spaceKey"
                )
            return Outcome({"id": str(await _grow(session, nearest, keys, name, level))})

        call = {"ensureSpace": key_path.strip("/"), "name": name, "level": level}
        return await _shown(session, principal, await once(session, principal, client_key, call, work))


async def _found(session: Session, principal: Principal, key_path: str) -> UUID | None:
    """The space of that key path, when it is there for the caller."""
    if not key_path.strip("/") and key_path != ROOT_KEY:
        return None
    try:
        return await named_visible(session, principal, space_id=None, space_key=key_path)
    except MunimentError:
        return None


async def _shown(session: Session, principal: Principal, made: dict[str, Any]) -> Any:
    row = await permissions.shown_space(session, principal.id, principal.identities, UUID(made["id"]))
    if row is None:
        raise space_not_found()
    return row


async def named_or_new_space(
    session: WriteSession, principal: Principal, permission: Permission, *, space_id: str | None, space_key: str | None
) -> UUID:
    """`named_space` for writing: an unknown key path is made where the caller may write on its nearest ancestor, with
    the ancestors that it lacks. SPACE_NOT_FOUND otherwise, as for a read."""
    try:
        return await named_space(session, principal, permission, space_id=space_id, space_key=space_key)
    except MunimentError as error:
        if error.code is not Code.SPACE_NOT_FOUND or space_key is None:
            raise
        missing = error
    try:
        keys = parse_key_path(space_key)
    except MunimentError:
        raise missing from None
    nearest = await _nearest(session, principal, keys, missing)
    owned = nearest.owner_id is not None
    if owned or len(nearest.path) > len(keys) or Permission.WRITE.value not in nearest.permissions:
        raise missing
    if permission.value not in nearest.permissions:
        raise MunimentError(Code.FORBIDDEN, f"this needs {permission.value} on the space")
    return await _grow(session, nearest, keys)


async def space_for_ingestion(database: Database, organisation: UUID, key_path: str) -> UUID:
    """The space of a key path, made with the ancestors that it lacks: for the operator of the deployment, who may write
    everywhere. BAD_USER_INPUT for what is no key path, SPACE_NOT_FOUND when there is no such organisation."""
    async with database.snapshot(organisation) as read:
        found = await tenancy.find_space(read, key_path.strip("/") or ROOT_KEY)
    if found is not None:
        known: UUID = found.id
        return known
    keys = parse_key_path(key_path)
    async with database.write(organisation) as session:
        nearest = await permissions.nearest_space(session, [], _prefixes(keys))
        if nearest is None:
            raise space_not_found("spaceKey")
        return await _grow(session, nearest, keys)


async def _nearest(
    session: WriteSession, principal: Principal, keys: Sequence[str], missing: MunimentError | None = None
) -> Any:
    """The space of these keys, or the nearest ancestor that there is. SPACE_NOT_FOUND when the caller may not see it:
    what is below it is then no more theirs to know."""
    row = await permissions.nearest_space(session, principal.identities, _prefixes(keys))
    own = row is not None and row.owner_id == principal.id
    if row is None or not (own or (row.owner_id is None and row.permissions)):
        raise missing or space_not_found("spaceKey")
    return row


def _prefixes(keys: Sequence[str]) -> list[str]:
    return [join_keys(keys[:length]) for length in range(len(keys) + 1)]


async def _grow(
    session: WriteSession, nearest: Any, keys: Sequence[str], name: str | None = None, level: Level | None = None
) -> UUID:
    """The id of `nearest` when it has all the keys; else of the last of the spaces that are made below it."""
    there = len(split_keys(nearest.key_path))
    if there < len(keys) and nearest.owner_id is not None:
        raise bad_input("a personal space has no spaces below it", "spaceKey")
    space = Space(nearest.id, Level(nearest.level), nearest.key_path, nearest.name, tuple(nearest.path))
    for number, one in enumerate(levels_of_path(space.level, level, len(keys) - there), there + 1):
        called = name if name is not None and number == len(keys) else keys[number - 1]
        space = await _make(session, space, keys[:number], called, one)
    return space.id


async def _make(session: WriteSession, parent: Any, keys: Sequence[str], name: str, level: Level) -> Space:
    id, key_path = new_id(), join_keys(keys)
    await tenancy.create_space(session, id=id, parent=parent, key_path=key_path, level=level, name=name)
    return Space(id, level, key_path, name, (*parent.path, id))
