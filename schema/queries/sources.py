"""Sources, and the jobs that read them."""

from typing import Annotated
from uuid import UUID

import strawberry

from app.domain.principal import Permission, parse_id
from app.ingestion.catalogue import list_sources, read_source
from app.ingestion.syncing import list_jobs, read_job
from app.storage.memories import FIRST_ID
from schema.context import Info
from schema.permissions import Where, needs
from schema.types.connection import Connection, bad_cursor, connect, decode_cursor, page_size
from schema.types.sources import Job, Source

SOURCES, JOBS = "sources", "jobs"

First = Annotated[int | None, strawberry.argument(description="Most items; 20 by default.")]
After = Annotated[str | None, strawberry.argument(description="Cursor to go on behind.")]
SourceId = Annotated[strawberry.ID, strawberry.argument(description="Id of the source.")]


@strawberry.type
class SourceQueries:
    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(description="A source as it stands today.")
    async def source(self, info: Info, id: SourceId) -> Source:
        services, principal = info.context.services, info.context.principal
        return Source.of(await read_source(services.database, principal, str(id)))

    @needs(Permission.READ)
    @strawberry.field(description="The sources of a space; without one, of every space that the caller may read.")
    async def sources(
        self,
        info: Info,
        space_id: Annotated[strawberry.ID | None, strawberry.argument(description="The space, by id.")] = None,
        space_key: Annotated[str | None, strawberry.argument(description="The space, by key path.")] = None,
        first: First = None,
        after: After = None,
    ) -> Connection[Source]:
        services, principal = info.context.services, info.context.principal
        size, behind = page_size(first), _behind(SOURCES, after)
        rows = await list_sources(
            services.database,
            principal,
            space_id=None if space_id is None else str(space_id),
            space_key=space_key,
            after=behind or FIRST_ID,
            limit=size + 1,
        )
        return connect(SOURCES, rows, size, after, node=Source.of, position=lambda row: str(row.id))

    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(description="A job; NOT_FOUND for one of a source that the caller may not read.")
    async def job(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the job.")]
    ) -> Job:
        services, principal = info.context.services, info.context.principal
        return Job.of(await read_job(services.database, principal, str(id)))

    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.field(description="The jobs of a source, newest first.")
    async def jobs(self, info: Info, source_id: SourceId, first: First = None, after: After = None) -> Connection[Job]:
        services, principal = info.context.services, info.context.principal
        size, before = page_size(first), _behind(JOBS, after)
        rows = await list_jobs(services.database, principal, str(source_id), before, size + 1)
        return connect(JOBS, rows, size, after, node=Job.of, position=lambda row: str(row.id))


def _behind(collection: str, after: str | None) -> UUID | None:
    cursor = decode_cursor(collection, after)
    if cursor is None:
        return None
    found = parse_id(cursor)
    if found is None:
        raise bad_cursor()
    return found
