"""What a process does by itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.assembly.services import Services


@asynccontextmanager
async def workers(parts: Services, *, everything: bool = False) -> AsyncIterator[None]:
    """The background tasks of a server. `everything`: also those that its settings leave to `muniment worker`."""
    tasks = [asyncio.create_task(parts.sequencer.run(parts.rung))]
    tasks.append(asyncio.create_task(parts.listener.run()))
    tasks.append(asyncio.create_task(parts.indexer.run()))
    tasks.append(asyncio.create_task(parts.credentials.uses.run()))
    tasks.append(asyncio.create_task(parts.checkpoints.run()))
    tasks.append(asyncio.create_task(parts.rates.run()))
    if parts.schedule is not None:
        tasks.append(asyncio.create_task(parts.schedule.run()))
    if parts.witnessing is not None:
        tasks.append(asyncio.create_task(parts.witnessing.run()))
    if everything or parts.settings.worker == "on":
        tasks.append(asyncio.create_task(parts.jobs.run()))
        if parts.embedding is not None:
            tasks.append(asyncio.create_task(parts.embedding.run()))
        tasks.append(asyncio.create_task(replace(parts.reindexer, database=parts.background).run()))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await parts.sequencer.finish()
        await parts.checkpoints.finish()
