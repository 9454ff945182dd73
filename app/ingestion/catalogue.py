"""Looking after sources: making, reading, classifying and deleting them."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from app.domain.dlp.policy import Classification
from app.domain.errors import Code, MunimentError, bad_input
from app.domain.lexical import Analyser
from app.domain.principal import Permission, Principal, parse_id
from app.domain.sources import SourceKind
from app.identity.once import Outcome, check_client_key, once
from app.identity.spaces import NOWHERE, named_space, permitted
from app.identity.tree import named_or_new_space
from app.ingestion.sources import Provider
from app.providers.ids import new_id
from app.providers.parsers.registry import clean
from app.storage import catalogue, permissions, reindexing, sources
from app.storage.catalogue import Listed
from app.storage.engine import Database, Session

MAX_NAME: Final = 200
#: What brings its documents in calls; those that read a place of their own are made by whoever reads it.
BY_HAND: Final = "api"


def source_not_found(field: str = "id") -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such source", field)


async def create_source(
    database: Database,
    analyser: Callable[[str], Analyser],
    principal: Principal,
    *,
    space_id: str | None,
    space_key: str | None,
    name: str,
    kind: SourceKind,
    provider: str = BY_HAND,
    classification: Classification = Classification.INTERNAL,
    language: str = "english",
    access_policy: Mapping[str, Any] | None = None,
    client_key: str | None = None,
) -> Listed:
    """A new source in a space on which the caller may write; an unknown space key is made as `remember` makes it.

    CONFLICT when the space has a source of that provider and name. BAD_USER_INPUT for a language that there is not, and
    for a provider whose sources are made by who reads their places. FORBIDDEN for one that the credential does not
    admit.
    """
    check_client_key(client_key)
    for field, value in (("name", name), ("provider", provider)):
        if not 0 < len(value.strip()) <= MAX_NAME or clean(value)[1]:
            raise bad_input(f"1 to {MAX_NAME} characters, without NUL or lone surrogates", field)
    if provider.strip().casefold() in set(Provider):
        raise bad_input("sources of this provider are made by who reads their places", "provider")
    if not principal.admits(provider):
        raise MunimentError(Code.FORBIDDEN, "the credential does not admit this provider", "provider")
    try:
        analyser(language)
    except ValueError as error:
        raise bad_input(str(error), "language") from None
    call = {
        "createSource": name,
        "space": space_id or space_key,
        "kind": kind,
        "provider": provider,
        "classification": classification,
        "language": language,
        "accessPolicy": access_policy,
    }
    async with database.write(principal.organisation) as session:
        space = await named_or_new_space(session, principal, Permission.WRITE, space_id=space_id, space_key=space_key)

        async def work() -> Outcome:
            if await sources.find_source(session, space, provider, name) is not None:
                raise MunimentError(Code.CONFLICT, "the space has a source of that name already", "name")
            made = await sources.create_source(
                session,
                id=new_id(),
                space=space,
                kind=kind,
                provider=provider,
                name=name,
                classification=classification,
                access_policy=access_policy,
                language=language,
            )
            return Outcome({"id": str(made.id)})

        made = await once(session, principal, client_key, call, work)
        found = await catalogue.source(session, UUID(made["id"]))
    if found is None:
        raise source_not_found()
    return found


async def read_source(database: Database, principal: Principal, id: str) -> Listed:
    """NOT_FOUND for one that the caller may not read."""
    async with database.snapshot(principal.organisation) as session:
        return await permitted_source(session, principal, Permission.READ, id)


async def list_sources(
    database: Database,
    principal: Principal,
    *,
    space_id: str | None,
    space_key: str | None,
    after: UUID,
    limit: int,
) -> list[Listed]:
    """Those of a space, or of every space, that the caller may read."""
    async with database.snapshot(principal.organisation) as session:
        if space_id is None and space_key is None:
            held = await permissions.granted(session, principal.id, principal.identities)
            spaces = held.get(Permission.READ.value, frozenset())
        else:
            spaces = frozenset(
                {await named_space(session, principal, Permission.READ, space_id=space_id, space_key=space_key)}
            )
        return await catalogue.sources(session, spaces, principal.allowed_providers, after, limit)


async def delete_source(database: Database, principal: Principal, id: str, client_key: str | None = None) -> UUID:
    """Needs `context:space:admin`. From the commit on nothing of it is given any more, at no point of either clock."""
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        found = parse_id(id)

        async def work() -> Outcome:
            source = await permitted_source(session, principal, Permission.ADMIN, id)
            await catalogue.remove(session, source.id)
            return Outcome({"id": str(source.id)})

        made = await once(session, principal, client_key, {"deleteSource": str(found)}, work)
    return UUID(made["id"])


async def set_classification(
    database: Database, principal: Principal, id: str, classification: Classification, client_key: str | None = None
) -> Listed:
    """Needs `context:space:admin`. Holds for the next retrieval, the index follows in the background; what the class
    was before stays known."""
    check_client_key(client_key)
    async with database.write(principal.organisation) as session:
        source = await permitted_source(session, principal, Permission.ADMIN, id)

        async def work() -> Outcome:
            if source.classification != classification:
                await catalogue.reclassify(session, source.id, classification)
                # Its index may be another under the policy on the new class.
                await reindexing.enqueue(session, [source.id], whole=False)
            return Outcome({"id": str(source.id)})

        call = {"setSourceClassification": str(source.id), "classification": classification}
        await once(session, principal, client_key, call, work)
        found = await catalogue.source(session, source.id)
    assert found is not None
    return found


async def permitted_source(
    session: Session, principal: Principal, permission: Permission, id: str, field: str = "id"
) -> Listed:
    """A source of a space on which the caller holds `permission`. NOT_FOUND when they may not even see the space,
    or their credential does not admit its provider; FORBIDDEN when they may see it but not do this there."""
    known = parse_id(id)
    found = None if known is None else await catalogue.source(session, known)
    # What is not there is asked for like what may not be seen, and takes as long.
    if found is not None and not principal.admits(found.provider):
        found = None
    space = NOWHERE if found is None else found.space_id
    await permitted(session, principal, permission, space_id=space, missing=source_not_found(field))
    if found is None:
        raise source_not_found(field)
    return found
