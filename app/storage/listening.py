"""Hearing of the writes of every process: LISTEN on a connection of its own, which no pool lends out.

A notification is sent by the transaction that stamps a write, so it comes when, and only if, that is committed. It says
which organisation wrote and when, and nothing of what.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

log = structlog.get_logger()

CHANNEL = "muniment_written"

#: Seconds between two attempts to connect, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
#: Seconds after which an idle connection is asked whether it still is one.
PULSE = 15.0


class Listener:
    """One connection that hears of writes. `heard` is called with the organisation, and with None after every
    (re)connection: something may have been missed, so all is to be looked at."""

    def __init__(self, url: str, heard: Callable[[UUID | None], None]) -> None:
        self._url = url
        self._heard = heard

    async def run(self) -> None:
        """Listen until cancelled; when the database goes away, until it is back."""
        engine = create_async_engine(self._url, poolclass=NullPool)
        pause = FIRST_PAUSE
        try:
            while True:
                try:
                    async with engine.connect() as connection:
                        driver = (await connection.get_raw_connection()).driver_connection
                        assert driver is not None
                        await self._listen(driver)
                        pause = FIRST_PAUSE
                        await self._until_lost(driver)
                except Exception:
                    log.warning("listener.lost", exc_info=True)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            await engine.dispose()

    async def _listen(self, driver: Any) -> None:
        await driver.add_listener(CHANNEL, self._notified)
        self._heard(None)

    async def _until_lost(self, driver: Any) -> None:
        """A connection that was cut without a word shows when it is used."""
        lost = asyncio.Event()
        driver.add_termination_listener(lambda _connection: lost.set())
        while not lost.is_set() and not driver.is_closed():
            with suppress(TimeoutError):
                async with asyncio.timeout(PULSE):
                    await lost.wait()
            if not lost.is_set():
                await driver.fetchval("SELECT 1", timeout=PULSE)

    def _notified(self, _connection: object, _process: int, _channel: str, payload: str) -> None:
        organisation = payload.partition(" ")[0]
        with suppress(ValueError):
            self._heard(UUID(organisation))
