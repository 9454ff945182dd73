"""E10. Telling who waits when something that was delivered to them moved, in whatever process it was written."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from uuid import UUID

from app.domain.errors import Code, MunimentError
from app.domain.principal import Principal
from app.evidence.staleness import Moved, Stale, moved_of
from app.storage.engine import Database

#: Seconds in which writes gather before a delivery is looked at again: many come in one go.
GATHERING = 0.1
#: Seconds until a database that did not answer is asked again.
RETRY = 1.0
#: Seconds after which it is looked at although nothing was heard.
UNHEARD = 15.0


class Watch:
    """Who waits for writes of which organisation, in this process. `most` of them at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[UUID, set[asyncio.Event]] = {}
        self._count = 0

    @property
    def count(self) -> int:
        return self._count

    def heard(self, organisation: UUID | None) -> None:
        """Something was written there; None: perhaps anywhere."""
        told = list(self._waiting) if organisation is None else [organisation]
        for id in told:
            for event in self._waiting.get(id, ()):
                event.set()

    @contextmanager
    def waiting(self, organisation: UUID) -> Iterator[asyncio.Event]:
        """An event that is set by each write. RATE_LIMITED when as many wait as may."""
        if self._count >= self._most:
            raise MunimentError(Code.RATE_LIMITED, "as many subscriptions are open as this server serves")
        event = asyncio.Event()
        self._count += 1
        self._waiting.setdefault(organisation, set()).add(event)
        try:
            yield event
        finally:
            self._count -= 1
            waiting = self._waiting[organisation]
            waiting.discard(event)
            if not waiting:
                del self._waiting[organisation]


async def context_changed(
    database: Database,
    watch: Watch,
    principal: Principal,
    id: str,
    until: datetime,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> AsyncGenerator[Stale, None]:
    """A delivery with what moved of it: at once what has already, then whatever moves, until the credential expires.

    Each item is told once for each movement. ATTRIBUTION_NOT_FOUND as `attribution`, also when it is no longer the
    caller's to see."""
    told: set[Moved] = set()
    with watch.waiting(principal.organisation) as event:
        while True:
            event.clear()
            try:
                found = await moved_of(database, principal, id)
            except MunimentError as error:
                # The database restarts: who waits need not know, as long as it comes back.
                if error.code is not Code.SEARCH_UNAVAILABLE or clock() >= until:
                    raise
                await asyncio.sleep(RETRY)
                continue
            fresh = tuple(moved for moved in found.moved if moved not in told)
            told.update(fresh)
            if fresh:
                yield Stale(found.attribution, fresh)
            left = (until - clock()).total_seconds()
            if left <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, UNHEARD)):
                    await event.wait()
                    await asyncio.sleep(GATHERING)
            if clock() >= until:
                return
