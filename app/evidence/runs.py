"""The runs of verification that were recorded, page by page."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from app.domain.errors import MunimentError, bad_input
from app.domain.instant import format_instant, parse_instant
from app.domain.principal import parse_id
from app.storage import verifications
from app.storage.engine import Database
from app.storage.verifications import StoredRun

__all__ = ["Place", "StoredRun", "page", "parse_place", "place_of"]

#: Where a run stands among the others: (finished at, id).
Place = tuple[datetime, UUID]


async def page(database: Database, organisation: UUID, limit: int, behind: Place | None) -> Sequence[StoredRun]:
    """The latest first."""
    async with database.snapshot(organisation) as session:
        return await verifications.page(session, limit, behind)


def place_of(run: StoredRun) -> str:
    return f"{format_instant(run.finished_at)} {run.id}"


def parse_place(text: str | None) -> Place | None:
    """What `place_of` wrote; BAD_USER_INPUT for anything else."""
    if text is None:
        return None
    at, _, name = text.partition(" ")
    id = parse_id(name)
    try:
        if id is not None:
            return parse_instant(at), id
    except MunimentError:
        pass
    raise bad_input("not a cursor of this collection", "after")
