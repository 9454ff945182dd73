"""Hearing of writes by asking, where nothing can be listened to: a pooler in transaction mode gives no connection that
stays the same."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog
from sqlalchemy import text

from app.storage.engine import Database

log = structlog.get_logger()

#: Seconds between two looks at the clocks.
PAUSE = 1.0

_CLOCKS = text("SELECT organisation_id, system_at FROM organisation_clocks")


class Poller:
    """Compares the clocks of all organisations while somebody `waits`. `heard` is called as by `Listener`."""

    def __init__(
        self,
        database: Database,
        heard: Callable[[UUID | None], None],
        waits: Callable[[], bool],
        pause: float = PAUSE,
    ) -> None:
        self._database = database
        self._heard = heard
        self._waits = waits
        self._pause = pause

    async def run(self) -> None:
        """Look until cancelled."""
        known: dict[UUID, object] | None = None
        while True:
            if not self._waits():
                known = None
            else:
                try:
                    known = await self._look(known)
                except Exception:
                    log.warning("poller.failed", exc_info=True)
            await asyncio.sleep(self._pause)

    async def _look(self, known: dict[UUID, object] | None) -> dict[UUID, object]:
        async with self._database.across() as session:
            found = {row.organisation_id: row.system_at for row in await session.rows(_CLOCKS)}
        if known is None:
            self._heard(None)
        else:
            for organisation, at in found.items():
                if known.get(organisation) != at:
                    self._heard(organisation)
        return found
