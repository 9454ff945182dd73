"""Keeping `delivered_items` up with the chain. It is derived: what is not in it yet is read from the records."""

import asyncio
from uuid import UUID

import structlog

from app.storage import delivered
from app.storage.engine import Database

log = structlog.get_logger()

#: Seconds in which records gather before their items are taken: a batch costs hardly more for many than for one.
INTERVAL = 2.0


async def index_delivered(database: Database, organisation: UUID) -> None:
    """Take the items of every record that is chained by now. Killed at any moment, a batch is in it whole or not."""
    while True:
        async with database.unstamped(organisation) as session:
            if not await delivered.take(session):
                return


class Indexer:
    """Takes the items of what this process's sequencer chained, apart from it: a turn of the chain waits for nothing
    that is derived."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._behind: set[UUID] = set()

    def appended(self, organisation: UUID, records: int) -> None:
        """Told by the sequencer."""
        self._behind.add(organisation)

    async def run(self) -> None:
        """First every organisation, for records that were chained before there was an index or while nobody was there
        to take them; then what is told."""
        try:
            async with self._database.across() as session:
                self._behind.update(await delivered.organisations(session))
        except Exception:
            log.exception("delivered.not_listed")
        while True:
            await self.catch_up()
            await asyncio.sleep(INTERVAL)

    async def catch_up(self) -> None:
        """Organisations that are behind. A failure stops none of the others, and is tried again."""
        behind, self._behind = self._behind, set()
        for organisation in behind:
            try:
                await index_delivered(self._database, organisation)
            except Exception:
                log.exception("delivered.not_indexed", organisation=str(organisation))
                self._behind.add(organisation)
