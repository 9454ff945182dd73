"""Offering checkpoints to a witness: the newest of each organisation, until it is taken."""

import asyncio
from uuid import UUID

import structlog

from app.providers.witness import Witness

log = structlog.get_logger()

#: Seconds before a note that was not taken is sent again: doubled each time, up to the greatest.
LEAST_PAUSE, GREATEST_PAUSE = 1.0, 300.0


class Witnessing:
    """Best effort: nothing waits for the witness. A newer checkpoint takes the place of one that was not yet taken,
    since it says all that the older one does."""

    def __init__(self, witness: Witness, pause: float = LEAST_PAUSE) -> None:
        self._witness = witness
        self._least = pause
        self._offered: dict[UUID, bytes] = {}
        self._rung = asyncio.Event()

    def offer(self, organisation: UUID, note: bytes) -> None:
        self._offered[organisation] = note
        self._rung.set()

    async def run(self) -> None:
        """Send what is offered, for as long as the process lives."""
        pause = self._least
        while True:
            await self._rung.wait()
            self._rung.clear()
            if await self.sweep():
                pause = self._least
                continue
            await asyncio.sleep(pause)
            pause = min(2 * pause, GREATEST_PAUSE)
            self._rung.set()

    async def sweep(self) -> bool:
        """Send each note once; whether all were taken."""
        for organisation, note in list(self._offered.items()):
            if not await self._witness.send(note):
                log.warning("witness.not_reached", organisation=str(organisation))
                return False
            if self._offered.get(organisation) == note:
                del self._offered[organisation]
        return True

    async def close(self) -> None:
        await self._witness.close()
