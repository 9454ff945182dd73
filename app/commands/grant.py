"""`muniment grant`: the operator's own way to a first administrator."""

from typing import Annotated
from uuid import UUID, uuid5

import typer

from app.assembly.services import Services
from app.commands.running import Organisation, out, require_known, with_services
from app.domain.grant import Grantee, GranteeKind
from app.domain.principal import Level, Permission
from app.domain.space_tree import ROOT_KEY, check_name
from app.domain.temporal import ALWAYS
from app.identity.development import ORGANISATION
from app.identity.grants import Wish, grant_as_operator
from app.storage import tenancy
from app.storage.engine import Database


def grant_(
    name: Annotated[str, typer.Argument(help="The token's subject, the group's name, or the id of the key.")],
    permission: Annotated[
        list[Permission] | None, typer.Option(help="What is granted; may be repeated. Without it, everything.")
    ] = None,
    kind: Annotated[GranteeKind, typer.Option(help="Whom it is granted to.")] = GranteeKind.PERSON,
    space: Annotated[str, typer.Option(help="Key path of the space; it holds there and below.")] = ROOT_KEY,
    organisation: Organisation = ORGANISATION,
    create: Annotated[
        str | None, typer.Option(help="Make the organisation under this name when there is none of that id.")
    ] = None,
) -> None:
    """Grant permissions as the operator, such as everything to the first administrator of an organisation."""
    wish = Wish(Grantee(kind, name), _wanted(permission, space), ALWAYS, from_now=True)

    async def work(parts: Services) -> None:
        if create is not None:
            await _ensure_organisation(parts.database, organisation, check_name(create))
        await require_known(parts, organisation)
        id = await grant_as_operator(parts.database, organisation, space, wish)
        out.print(f"{kind} {id} holds {', '.join(wish.permissions)} on {space}", soft_wrap=True, markup=False)

    with_services(work)


def _wanted(permissions: list[Permission] | None, space: str) -> list[Permission]:
    if permissions:
        return permissions
    at_root = (space.strip("/") or ROOT_KEY) == ROOT_KEY
    return [permission for permission in Permission if at_root or permission is not Permission.ORG_ADMIN]


async def _ensure_organisation(database: Database, organisation: UUID, name: str) -> None:
    """An organisation with a space of its own; one that is there stays as it is."""
    await tenancy.create_organisation(database, organisation, str(organisation), name)
    async with database.write(organisation) as session:
        if await tenancy.find_space(session, ROOT_KEY) is None:
            root = uuid5(organisation, f"space:{ROOT_KEY}")
            await tenancy.create_space(
                session, id=root, parent=None, key_path=ROOT_KEY, level=Level.ORGANISATION, name=name
            )
