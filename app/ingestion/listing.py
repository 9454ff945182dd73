"""What a source holds."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.domain.dlp.policy import Action
from app.domain.dlp.scanning import Scanner
from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission, Principal, parse_id
from app.identity.spaces import NOWHERE, permitted
from app.providers.redaction.scanner import SCANNER
from app.storage import policies, reading, sources
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
    scanner: Scanner = SCANNER,
) -> Sequence[Entry]:
    """The documents that were believed to hold then, by id; what is said of them is masked unless today's policy gives
    the class of the source as it is. NOT_FOUND for a source that is not there for this
    caller, also when it was removed since."""
    id = parse_id(source_id)
    missing = MunimentError(Code.NOT_FOUND, "no such source", "sourceId")
    async with database.snapshot(principal.organisation) as session:
        source = None if id is None else await sources.source_by_id(session, id)
        space = NOWHERE if source is None else source.space_id
        await permitted(session, principal, Permission.READ, space_id=space, missing=missing)
        if source is None or not principal.admits(source.provider):
            raise missing
        found = await reading.entries(
            session, source.id, *await reading.point(session, as_of, known_at), after=after, limit=limit
        )
        shown = [_masked(entry, scanner) for entry in found]
        # The policy is another round trip: it is asked for only where it has something to say.
        if shown == found or (await policies.current(session)).action(source.classification) is Action.ALLOW:
            return found
        return shown


def _masked(entry: Entry, scanner: Scanner) -> Entry:
    return replace(
        entry,
        external_id=scanner.redacted(entry.external_id),
        title=scanner.redacted(entry.title),
        url=None if entry.url is None else scanner.redacted(entry.url),
        tags=[scanner.redacted(tag) for tag in entry.tags],
    )
