"""Keeping the embedded PostgreSQL alive while a server uses it."""

import asyncio
from typing import Final, Protocol

import structlog

log = structlog.get_logger()

#: Seconds between two looks, and between two attempts to start it: at first and at most.
LOOK, FIRST_PAUSE, LONGEST_PAUSE = 0.5, 0.5, 30.0
#: Looks in a row that must find nothing: one may fall between two servers of another process.
_TWICE: Final = 2


class Revivable(Protocol):
    @property
    def answers(self) -> bool: ...

    def revive(self) -> None: ...


async def keep_running(server: Revivable, look: float = LOOK, first_pause: float = FIRST_PAUSE) -> None:
    """Until cancelled. Whoever shares the home may be at it too: the home's locks let one start it, never two."""
    pause, missed = first_pause, 0
    while True:
        await asyncio.sleep(look)
        missed = 0 if await asyncio.to_thread(lambda: server.answers) else missed + 1
        if missed < _TWICE:
            continue
        log.error("database.died")
        try:
            await asyncio.to_thread(server.revive)
        except Exception as error:
            # Its text is ours and the end of PostgreSQL's log, in which there are no statements.
            log.exception("database.not_started", reason=str(error))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            log.warning("database.started_again")
            pause, missed = first_pause, 0
