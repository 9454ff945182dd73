"""Waiting for what moves: within one process, across a cut of every connection, and never more than are served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import text

from app.domain.errors import Code, MunimentError
from app.domain.principal import Permission
from app.evidence.staleness import MovementKind, Stale
from app.evidence.watching import Watch, context_changed
from app.storage.engine import Database
from app.storage.listening import Listener
from tests.fixtures.store import World

PATIENCE = 20


def later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


@asynccontextmanager
async def listening(url: str, watch: Watch) -> AsyncIterator[None]:
    connected = asyncio.Event()

    def heard(organisation: object) -> None:
        connected.set()
        watch.heard(organisation)  # type: ignore[arg-type]

    task = asyncio.create_task(Listener(url, heard).run())
    try:
        async with asyncio.timeout(PATIENCE):
            await connected.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def soon(events: AsyncIterator[Stale]) -> set[MovementKind]:
    async with asyncio.timeout(PATIENCE):
        return {moved.kind for moved in (await anext(events)).moved}


async def test_it_goes_on_when_every_connection_was_cut(
    world: World, installation: object, owner: asyncpg.Connection
) -> None:
    url: str = installation.url  # type: ignore[attr-defined]
    await world.write("tea.md", ("Tea is kept in the red tin.", None, None))
    answer = await world.ask("tea")
    database, watch = Database.connect(url, pool_size=1), Watch(10)
    try:
        async with listening(url, watch):
            changes = context_changed(database, watch, world.principal, str(answer.attribution_id), later())
            async with aclosing(changes) as events:
                coming = asyncio.create_task(soon(events))
                await world.write("tea.md", ("Tea is kept in the green tin.", None, None))
                assert await coming == {MovementKind.CORRECTED}
                async with database.snapshot(world.organisation) as session:
                    pool = await session.value(text("SELECT pg_backend_pid()"))
                await owner.fetch(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 OR query LIKE 'LISTEN%'",
                    pool,
                )
                coming = asyncio.create_task(soon(events))
                await world.write("tea.md")
                assert await coming == {MovementKind.RETRACTED}
            assert watch.count == 0
    finally:
        await database.close()


async def test_so_many_wait_at_once() -> None:
    watch, organisation = Watch(2), uuid4()
    with watch.waiting(organisation) as one, watch.waiting(uuid4()) as other:
        with pytest.raises(MunimentError) as refused, watch.waiting(organisation):
            pass
        assert refused.value.code is Code.RATE_LIMITED
        watch.heard(organisation)
        assert (one.is_set(), other.is_set()) == (True, False)
        watch.heard(None)
        assert other.is_set()
    assert watch.count == 0
    watch.heard(organisation)


async def test_who_may_no_longer_see_it_hears_no_more(world: World, owner: asyncpg.Connection) -> None:
    await world.write("tea.md", ("Tea is kept in the red tin.", None, None))
    answer = await world.ask("tea")
    warden = await world.add_person("warden", (world.project, Permission.ADMIN))
    watch = Watch(1)
    changes = context_changed(world.parts.database, watch, warden, str(answer.attribution_id), later())
    async with aclosing(changes) as events:
        coming = asyncio.create_task(soon(events))
        while watch.count == 0:
            await asyncio.sleep(0.01)
        async with world.parts.database.write(world.organisation) as write:
            stamp = write.stamp
        await owner.execute("UPDATE grants SET system_to = $1 WHERE principal_id = $2", stamp, warden.id)
        await world.write("tea.md")
        watch.heard(world.organisation)
        with pytest.raises(MunimentError) as refused:
            await coming
        assert refused.value.code is Code.ATTRIBUTION_NOT_FOUND
