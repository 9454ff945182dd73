"""Jobs: work that is asked for in a call and done later, by whichever process gets to it.

Every kind of work is resumable and changes nothing when it is done twice, so a job that is cut off, or that two workers
end up with, is simply done again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import structlog

from app.domain.errors import Code, MunimentError
from app.providers.ids import new_id
from app.storage import jobs
from app.storage.engine import Database
from app.storage.jobs import StoredJob

log = structlog.get_logger()

#: Tries after which a job is parked.
ATTEMPTS: Final = 5
#: Pause before the second try; it doubles with each one.
PAUSE: Final = timedelta(seconds=2)
#: Seconds between two signs of life.
ALIVE: Final = 1.0


class JobKind(StrEnum):
    """What a job does."""

    SYNC_SOURCE = "SYNC_SOURCE"


class JobState(StrEnum):
    """Where a job stands."""

    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    PARKED = "PARKED"


class Progress:
    """How far a job is: it counts `done`, of `total` once that is known."""

    def __init__(self) -> None:
        self.done = 0
        self.total: int | None = None

    def advance(self, count: int) -> None:
        self.done += count

    def expect(self, count: int) -> None:
        self.total = (self.total or 0) + count


#: What a job does: organisation, source and progress in, what to tell of it out.
Work = Callable[[UUID, UUID, Progress], Awaitable[Mapping[str, Any]]]


class Hopeless(Exception):
    """To try again would change nothing; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class JobWorker:
    """Claims jobs and does them, one at a time. Any number may run; one that is killed loses nothing."""

    database: Database
    work: Mapping[JobKind, Work]

    async def run(self, interval: float = 1.0) -> None:
        """For ever, every organisation in turn."""
        while True:
            try:
                async with self.database.across() as session:
                    waiting = await jobs.organisations(session)
                found = [await self.next(organisation) for organisation in waiting]
            except Exception:
                log.exception("jobs.failed")
                found = []
            if not any(found):
                await asyncio.sleep(interval)

    async def next(self, organisation: UUID) -> bool:
        """Do the next job of an organisation; False when there is none."""
        worker = new_id()
        async with self.database.unstamped(organisation) as session:
            job = await jobs.claim(session, worker)
        if job is None:
            return False
        progress = Progress()
        working = asyncio.create_task(self._done(organisation, worker, job, progress))
        try:
            while not (await asyncio.wait([working], timeout=ALIVE))[0]:
                if not await self._alive(organisation, worker, job, progress):
                    break
        except asyncio.CancelledError:
            await _ended(working)
            await self._release(organisation, worker, job)
            raise
        await _ended(working)
        return True

    async def _release(self, organisation: UUID, worker: UUID, job: StoredJob) -> None:
        """A worker that stops in good order leaves its job to the next one at once."""
        with suppress(Exception):
            async with self.database.unstamped(organisation) as session:
                await jobs.release(session, job.id, worker)

    async def _alive(self, organisation: UUID, worker: UUID, job: StoredJob, progress: Progress) -> bool:
        """Whether the job is still this worker's, as far as that can be asked."""
        try:
            async with self.database.unstamped(organisation) as session:
                return await jobs.alive(session, job.id, worker, progress.done, progress.total)
        except Exception:
            log.warning("jobs.unheard", job=str(job.id), exc_info=True)
            return True

    async def _done(self, organisation: UUID, worker: UUID, job: StoredJob, progress: Progress) -> None:
        try:
            outcome = await self.work[JobKind(job.kind)](organisation, job.source_id, progress)
        except Exception as error:
            hopeless = isinstance(error, Hopeless) or job.attempts >= ATTEMPTS
            log.warning("jobs.undone", job=str(job.id), kind=job.kind, attempt=job.attempts, exc_info=True)
            async with self.database.unstamped(organisation) as session:
                if hopeless:
                    await jobs.park(session, job.id, worker, _sentence(error))
                else:
                    pause = PAUSE * 2 ** (job.attempts - 1)
                    await jobs.give_back(session, job.id, worker, _sentence(error), pause)
        else:
            async with self.database.unstamped(organisation) as session:
                await jobs.finish(session, job.id, worker, outcome, progress.done, progress.total)


async def _ended(task: asyncio.Task[None]) -> None:
    if not task.done():
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _sentence(error: Exception) -> str:
    """What is told of a failure. A message that is not ours may quote what was read."""
    if isinstance(error, Hopeless):
        return str(error)
    if isinstance(error, MunimentError) and error.code is not Code.INTERNAL:
        return error.message
    return f"An unexpected failure ({type(error).__name__}); the log says more."
