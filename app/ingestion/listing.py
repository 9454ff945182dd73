"""What a source holds."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission, Principal, parse_id
from app.identity.spaces import NOWHERE, permitted
from app.storage import reading, sources
from app.storage.engine import Database
from app.storage.reading import Entry


async def list_documents(
    database: Database,
    principal: Principal,
    source_id: str,
    as_of: datetime | None,
    known_at: datetime | None,
    *,
    after: UUID,
    limit: int,
) -> Sequence[Entry]:
    """The documents that were believed to hold then, by id. NOT_FOUND for a source that is not there for this
    caller, also when it was removed since."""
    id = parse_id(source_id)
    missing = MunimentError(Code.NOT_FOUND, "no such source", "sourceId")
    async with database.snapshot(principal.organisation) as session:
        source = None if id is None else await sources.source_by_id(session, id)
        space = NOWHERE if source is None else source.space_id
        await permitted(session, principal, Permission.READ, space_id=space, missing=missing)
        if source is None or not principal.admits(source.provider):
            raise missing
        return await reading.entries(
            session, source.id, *await reading.point(session, as_of, known_at), after=after, limit=limit
        )
