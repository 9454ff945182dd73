"""Naming a space, and what may be done there. Unknown, malformed and invisible are one answer."""

from collections.abc import Iterable
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.naming import InSpace
from app.domain.principal import Permission, Principal, parse_id
from app.storage import permissions
from app.storage.engine import Session

#: The space of what does not exist. It is asked for like any other, so that the time of an answer tells nothing.
NOWHERE = UUID(int=0)


def space_not_found(field: str = "spaceId") -> MunimentError:
    return MunimentError(Code.SPACE_NOT_FOUND, "no such space", field)


async def named_space(
    session: Session,
    principal: Principal,
    permission: Permission,
    *,
    space_id: str | None,
    space_key: str | None,
    field: str = "space",
) -> UUID:
    """The id of a space on which the caller holds `permission`; with neither name, the organisation's own.

    SPACE_NOT_FOUND when the caller may not even see it, FORBIDDEN when they may see it but not do this there. `field`
    begins the names of the two inputs: `spaceId` and `spaceKey`.
    """
    id, key = _names(space_id, space_key, field)
    missing = space_not_found(f"{field}Id" if space_key is None else f"{field}Key")
    return await permitted(session, principal, permission, space_id=id, key_path=key, missing=missing)


async def named_visible(session: Session, principal: Principal, *, space_id: str | None, space_key: str | None) -> UUID:
    """The id of a space on which the caller holds anything; SPACE_NOT_FOUND otherwise."""
    id, key = _names(space_id, space_key, "space")
    row = await permissions.permitted_space(session, principal.id, principal.identities, space_id=id, key_path=key)
    if row is None or not (row.permissions or row.owner_id == principal.id):
        raise space_not_found("spaceId" if space_key is None else "spaceKey")
    found: UUID = row.id
    return found


async def nearest_first(
    session: Session, principal: Principal, *, space_id: str | None, space_key: str | None
) -> tuple[UUID, ...]:
    """The named space and its ancestors, nearest first; with neither name the organisation's own, if the caller may see
    it. SPACE_NOT_FOUND for one that they may not see."""
    id, key = _names(space_id, space_key, "space")
    row = await permissions.permitted_space(session, principal.id, principal.identities, space_id=id, key_path=key)
    if row is None or not (row.permissions or row.owner_id == principal.id):
        if space_id is None and space_key is None:
            return ()
        raise space_not_found("spaceId" if space_key is None else "spaceKey")
    return tuple(reversed(row.path))


def _names(space_id: str | None, space_key: str | None, field: str) -> tuple[UUID | None, str | None]:
    """(id, key path) of which one is given; the root's key when neither is."""
    if space_id is not None and space_key is not None:
        raise bad_input("name the space by id or by key, not both", f"{field}Id")
    id = None if space_id is None else parse_id(space_id)
    if space_id is not None and id is None:
        raise space_not_found(f"{field}Id")
    key = space_key if space_key is None else (space_key.strip("/") or "/")
    if id is None and key is None:
        key = "/"
    if key is not None and ("\x00" in key or any("\ud800" <= character <= "\udfff" for character in key)):
        raise space_not_found(f"{field}Key")
    return id, key


async def permitted(
    session: Session,
    principal: Principal,
    *anyof: Permission,
    space_id: UUID | None = None,
    key_path: str | None = None,
    missing: MunimentError | None = None,
) -> UUID:
    """The same for a space that is already known by its id or key path; one of the permissions is enough.

    `missing` is raised where the caller may not even see the space: what is kept in it is then not there for them.
    """
    row = await permissions.permitted_space(
        session, principal.id, principal.identities, space_id=space_id, key_path=key_path
    )
    if row is None or not (row.permissions or row.owner_id == principal.id):
        raise missing or space_not_found()
    if not {permission.value for permission in anyof} & set(row.permissions) and row.owner_id != principal.id:
        raise MunimentError(Code.FORBIDDEN, f"this needs {' or '.join(anyof)} on the space")
    found: UUID = row.id
    return found


async def visible_among(session: Session, principal: Principal, items: Iterable[InSpace]) -> frozenset[UUID]:
    """Those spaces of some things in which the caller may do anything at all."""
    spaces = {item.space_id for item in items}
    if not spaces:
        return frozenset()
    return await permissions.visible_among(session, principal.id, principal.identities, sorted(spaces))


async def visible(session: Session, principal: Principal, space: UUID) -> bool:
    """Whether the caller may do anything at all in a space."""
    row = await permissions.permitted_space(session, principal.id, principal.identities, space_id=space, key_path=None)
    return row is not None and bool(row.permissions or row.owner_id == principal.id)
