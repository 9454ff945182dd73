"""Reading a source again from its place: asked for in a call, done as a job, followed while it is done."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from app.domain.errors import Code, MunimentError, bad_input
from app.domain.principal import Permission, Principal, parse_id
from app.identity.spaces import NOWHERE
from app.ingestion.catalogue import permitted_source
from app.ingestion.jobs import Hopeless, JobKind, JobState, Progress
from app.ingestion.prepare import Preparer
from app.ingestion.sources import ingest_place
from app.providers.ids import new_id
from app.storage import catalogue, jobs, sources
from app.storage.engine import Database, Session
from app.storage.jobs import StoredJob

#: Files that a job's outcome names of those that could not be read.
NAMED: Final = 100
#: Seconds between two looks at a job that is followed.
LOOK: Final = 0.5
OVER: Final = frozenset({JobState.DONE, JobState.PARKED})


@dataclass(frozen=True, slots=True)
class Syncing:
    """The work of a SYNC_SOURCE job."""

    database: Database
    preparer: Preparer
    embed: bool

    async def __call__(self, organisation: UUID, source_id: UUID, progress: Progress) -> Mapping[str, Any]:
        """Read the place to its end; counts of what changed, and the files that could not be read."""
        async with self.database.snapshot(organisation) as session:
            source = await sources.source_by_id(session, source_id)
            listed = await catalogue.source(session, source_id)
        if source is None or listed is None:
            raise Hopeless("The source was deleted.")
        if listed.place is None:
            raise Hopeless("The source is not read from a place of this deployment.")
        place = Path(listed.place)
        # A disk that is not mounted is no source without files.
        if not await asyncio.to_thread(place.is_dir):
            raise MunimentError(Code.NOT_FOUND, "The folder of the source is not there.")
        report = await ingest_place(
            self.database,
            organisation,
            source,
            place,
            self.preparer,
            embed=self.embed,
            total=progress.expect,
            progress=progress.advance,
        )
        return {
            "documents": report.documents,
            "versions": report.versions,
            "chunks": report.chunks,
            "seen": report.seen,
            "failed": len(report.failures),
            "failures": dict(islice(sorted(report.failures.items()), NAMED)),
        }


async def sync_source(database: Database, principal: Principal, id: str) -> StoredJob:
    """A job that reads the source again; the one that waits to do so, where there is one."""
    async with database.unstamped(principal.organisation) as session:
        source = await permitted_source(session, principal, Permission.WRITE, id)
        if source.place is None:
            raise bad_input("this source is not read from a place of this deployment: give its documents", "id")
        return await jobs.add(session, new_id(), JobKind.SYNC_SOURCE, source.id, principal.id)


async def read_job(database: Database, principal: Principal, id: str) -> StoredJob:
    """NOT_FOUND for one of a source that the caller may not see, FORBIDDEN when they may not read it."""
    async with database.snapshot(principal.organisation) as session:
        return await _permitted_job(session, principal, Permission.READ, id)


async def _permitted_job(session: Session, principal: Principal, permission: Permission, id: str) -> StoredJob:
    known = parse_id(id)
    job = None if known is None else await jobs.job(session, known)
    try:
        source = NOWHERE if job is None else job.source_id
        await permitted_source(session, principal, permission, str(source))
    except MunimentError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        raise job_not_found() from error
    if job is None:
        raise job_not_found()
    return job


async def list_jobs(
    database: Database, principal: Principal, source_id: str, before: UUID | None, limit: int
) -> list[StoredJob]:
    """The jobs of a source that the caller may read, newest first."""
    async with database.snapshot(principal.organisation) as session:
        source = await permitted_source(session, principal, Permission.READ, source_id, "sourceId")
        return await jobs.jobs(session, source.id, before, limit)


async def retry_job(database: Database, principal: Principal, id: str) -> StoredJob:
    """Try a parked job again. CONFLICT when it is not parked, or another waits to do the same."""
    async with database.unstamped(principal.organisation) as session:
        job = await _permitted_job(session, principal, Permission.WRITE, id)
        if not await jobs.retry(session, job.id):
            raise MunimentError(Code.CONFLICT, "only a parked job is tried again, and only one at a time", "id")
        found = await jobs.job(session, job.id)
    assert found is not None
    return found


async def follow_job(
    database: Database,
    principal: Principal,
    id: str,
    until: datetime,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> AsyncGenerator[StoredJob, None]:
    """The job as it is, and each time that it is another, until it is over or the credential expires. Ends with
    NOT_FOUND where the caller may no longer read its source."""
    last = None
    while clock() < until:
        job = await read_job(database, principal, id)
        if job != last:
            yield job
        if job.state in OVER:
            return
        last = job
        await asyncio.sleep(LOOK)


def job_not_found() -> MunimentError:
    return MunimentError(Code.NOT_FOUND, "no such job", "id")
