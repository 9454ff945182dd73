"""Keeping `delivered_items` up with the chain. It is derived: what is not in it yet is read from the records."""

from uuid import UUID

import structlog

from app.storage import delivered
from app.storage.engine import Database

log = structlog.get_logger()


async def index_delivered(database: Database, organisation: UUID) -> None:
    """Take the items of every record that is chained by now. Killed at any moment, a batch is in it whole or not."""
    while True:
        async with database.unstamped(organisation) as session:
            if not await delivered.take(session):
                return


async def index_all(database: Database) -> None:
    """The same for every organisation: for records that were chained before there was an index, or while nobody was
    there to take them. A failure stops none of the others."""
    async with database.across() as session:
        organisations = await delivered.organisations(session)
    for organisation in organisations:
        try:
            await index_delivered(database, organisation)
        except Exception:
            log.exception("delivered.not_indexed", organisation=str(organisation))
