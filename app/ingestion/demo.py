"""The demo organisation: a root space, a project space, and a developer who may do everything."""

from uuid import UUID, uuid5

from app.domain.principal import Level, Permission, principal_id
from app.storage import tenancy
from app.storage.engine import Database

PROJECT = "muniment"


async def ensure_demo(database: Database, organisation: UUID, subject: str) -> UUID:
    """The id of the project space; what is there already stays as it is. Ids follow from the organisation's, so that
    two first starts at once agree."""
    await tenancy.create_organisation(database, organisation, "demo", "Demo")
    root, project = uuid5(organisation, "space:/"), uuid5(organisation, f"space:{PROJECT}")
    person = principal_id(organisation, "person", subject)
    async with database.snapshot(organisation) as read:
        if (found := await tenancy.find_space(read, PROJECT)) is not None:
            return UUID(str(found.id))
    async with database.write(organisation) as session:
        if (found := await tenancy.find_space(session, PROJECT)) is not None:
            return UUID(str(found.id))
        parent = await tenancy.find_space(session, "/")
        if parent is None:
            await tenancy.create_space(
                session, id=root, parent=None, key_path="/", level=Level.ORGANISATION, name="Demo"
            )
            parent = await tenancy.find_space(session, "/")
        assert parent is not None
        await tenancy.create_space(
            session, id=project, parent=parent, key_path=PROJECT, level=Level.PROJECT, name="Muniment itself"
        )
        await tenancy.create_principal(session, person, "person", subject)
        if await tenancy.find_space(session, f"~{subject}") is None:
            await tenancy.create_space(
                session,
                id=uuid5(organisation, f"personal:{subject}"),
                parent=parent,
                key_path=f"~{subject}",
                level=Level.PERSONAL,
                name="Personal",
                owner_id=person,
            )
        for permission in Permission:
            await tenancy.grant(
                session, uuid5(organisation, f"grant:{subject}:{permission}"), person, parent.id, permission
            )
    return project
