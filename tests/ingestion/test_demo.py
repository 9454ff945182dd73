"""The demo beside what an operator made before it."""

from typing import Any
from uuid import uuid4

from app.commands.grant import _ensure_organisation
from app.domain.grant import Grantee, GranteeKind
from app.domain.principal import Level, Permission, principal_id
from app.domain.temporal import ALWAYS
from app.identity.grants import Wish, grant_as_operator
from app.ingestion.demo import PROJECT, ensure_demo
from app.storage import permissions, tenancy


async def test_an_organisation_that_is_there_already_gets_the_rest(parts: Any) -> None:
    organisation = uuid4()
    await _ensure_organisation(parts.database, organisation, "Org one")
    wish = Wish(Grantee(GranteeKind.PERSON, "developer"), list(Permission), ALWAYS, from_now=True)
    await grant_as_operator(parts.database, organisation, "/", wish)
    async with parts.database.snapshot(organisation) as session:
        before = await tenancy.find_space(session, "/")
    project = await ensure_demo(parts.database, organisation, "developer")
    assert await ensure_demo(parts.database, organisation, "developer") == project
    async with parts.database.snapshot(organisation) as session:
        root, made = await tenancy.find_space(session, "/"), await tenancy.find_space(session, PROJECT)
        assert root.id == before.id
        assert (made.id, list(made.path)) == (project, [root.id, project])
        developer = principal_id(organisation, "person", "developer")
        assert await permissions.holds_at_root(session, [developer], Permission.ORG_ADMIN)


async def test_a_space_of_the_demos_name_is_the_demos(parts: Any) -> None:
    organisation, made = uuid4(), uuid4()
    await _ensure_organisation(parts.database, organisation, "Org one")
    async with parts.database.write(organisation) as session:
        root = await tenancy.find_space(session, "/")
        await tenancy.create_space(
            session, id=made, parent=root, key_path=PROJECT, level=Level.PROJECT, name="Somebody's"
        )
    assert await ensure_demo(parts.database, organisation, "developer") == made
