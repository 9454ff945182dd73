"""Who may be at work at once: a share of the pool for each caller and each organisation, so that nobody takes it all.

Who comes when the share is taken waits for a turn, in order; the line is short, and so is the wait.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from app.domain.limits import rate_limited
from app.domain.principal import Principal

#: Calls that may wait in one line, and milliseconds that they wait.
MOST_WAITING: Final = 100
PATIENCE_MS: Final = 10_000


@dataclass(slots=True)
class _Line:
    gate: asyncio.Semaphore
    #: At work or waiting.
    here: int = 0


@dataclass(slots=True)
class Admission:
    """Calls at once of one caller and of one organisation, in this process."""

    of_caller: int
    of_organisation: int
    most_waiting: int = MOST_WAITING
    patience_ms: int = PATIENCE_MS
    _lines: dict[UUID, _Line] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, principal: Principal) -> AsyncIterator[None]:
        """RATE_LIMITED when too many of theirs wait already, or when the turn does not come in time."""
        # First the caller's own line: who waits in it takes no place of the organisation's.
        async with (
            self._in(principal.caller, self.of_caller, "yours"),
            self._in(principal.organisation, self.of_organisation, "the organisation's"),
        ):
            yield

    @asynccontextmanager
    async def _in(self, key: UUID, size: int, whose: str) -> AsyncIterator[None]:
        line = self._lines.setdefault(key, _Line(asyncio.Semaphore(size)))
        if line.here >= size + self.most_waiting:
            raise rate_limited(f"{size} calls at once are {whose}, and {self.most_waiting} wait", 1000)
        line.here += 1
        try:
            try:
                async with asyncio.timeout(self.patience_ms / 1000):
                    await line.gate.acquire()
            except TimeoutError:
                raise rate_limited(f"{size} calls at once are {whose}, and none of them ended in time", 1000) from None
            try:
                yield
            finally:
                line.gate.release()
        finally:
            line.here -= 1
            if not line.here:
                self._lines.pop(key, None)
