"""When keys were used last: gathered here and written once a minute for all, so that no request waits for it."""

import asyncio
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog

from app.storage import api_keys
from app.storage.engine import Database

log = structlog.get_logger()

#: Seconds between two writes.
EVERY: Final = 60.0


class KeyUse:
    """Of this process. What was not written when it is killed is lost: a minute of knowing when, nothing else."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._used: dict[UUID, dict[UUID, datetime]] = {}

    def used(self, organisation: UUID, key: UUID) -> None:
        self._used.setdefault(organisation, {})[key] = datetime.now(UTC)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self.write()

    async def write(self) -> None:
        """What has gathered; kept for the next time where the database does not take it."""
        gathered, self._used = self._used, {}
        for organisation, used in gathered.items():
            try:
                async with self._database.unstamped(organisation) as session:
                    await api_keys.note_use(session, used)
            except Exception:
                log.warning("key_use.not_written", exc_info=True)
                self._used[organisation] = {**used, **self._used.get(organisation, {})}
