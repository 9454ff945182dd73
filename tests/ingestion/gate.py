"""Stopping one of two that run at once, at a place that the test chooses."""

import asyncio
from contextlib import asynccontextmanager


async def until(event, task):
    """Wait for the event; a task that ended before it could set it shows its own failure."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
    if not event.is_set():
        waiting.cancel()
        await task
        raise AssertionError("the task ended without it")


class Held:
    """The real database; its writes wait at a gate from the `gated`th on, or never."""

    def __init__(self, database, gated=1):
        self._database = database
        self._left = gated
        self.snapshot = database.snapshot
        self.reached, self.gate = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def write(self, organisation, at=None):
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.reached.set()
                await self.gate.wait()
        async with self._database.write(organisation, at) as session:
            yield session
