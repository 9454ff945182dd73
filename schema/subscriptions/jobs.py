"""Following a job."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import strawberry

from app.domain.principal import Permission, Principal
from app.evidence.watching import Watch
from app.ingestion.syncing import follow_job, read_job
from app.storage.jobs import StoredJob
from schema.context import Info
from schema.permissions import Where, needs
from schema.types.sources import Job


@strawberry.type
class JobSubscriptions:
    @needs(Permission.READ, where=Where.ITEM)
    @strawberry.subscription(description="A job as it is, and each time that it is another, until it is over.")
    async def job_progress(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the job.")]
    ) -> AsyncGenerator[Job, None]:
        context = info.context
        services, principal = context.services, context.principal
        # What cannot be followed is told before the stream begins.
        await read_job(services.database, principal, str(id))
        return _shown(services.watch, principal, follow_job(services.database, principal, str(id), context.expires_at))


async def _shown(
    watch: Watch, principal: Principal, states: AsyncGenerator[StoredJob, None]
) -> AsyncGenerator[Job, None]:
    # One of as many subscriptions as the process serves.
    with watch.waiting(principal.organisation):
        async with aclosing(states) as found:
            async for job in found:
                yield Job.of(job)
