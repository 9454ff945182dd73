"""A pool that is full, a connection that was lost while idle, statements that take too long, a database that takes no
writes: refused with a code, and over when it is over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import text

from app.domain.errors import Code, MunimentError
from app.storage.engine import Database
from app.storage.pool import WAITING_EACH

ONE = text("SELECT 1")


@pytest.fixture
async def small(installation) -> AsyncIterator[Database]:
    database = Database.connect(installation.url, pool_size=2, pool_timeout=0.2, statement_ms=300)
    yield database
    await database.close()


async def ask(database: Database, organisation) -> int:
    async with database.snapshot(organisation) as session:
        value: int = await session.value(ONE)
        return value


async def test_who_comes_when_all_are_in_use_is_told_to_come_again(small, world):
    async with AsyncExitStack() as held:
        for _ in range(2):
            await held.enter_async_context(small.snapshot(world.organisation))
        with pytest.raises(MunimentError) as refused:
            await ask(small, world.organisation)
    assert refused.value.code is Code.SEARCH_UNAVAILABLE
    assert refused.value.retryable
    assert refused.value.retry_after_ms
    assert await ask(small, world.organisation) == 1
    assert (small.queue.in_use, small.queue.waiting) == (0, 0)


async def test_no_more_wait_than_can_be_served(installation, world):
    """Those beyond the bound are refused at once, without waiting; none of the others is lost."""
    database = Database.connect(installation.url, pool_size=1, pool_timeout=30)
    try:
        async with AsyncExitStack() as held:
            await held.enter_async_context(database.snapshot(world.organisation))
            asking = [asyncio.create_task(ask(database, world.organisation)) for _ in range(WAITING_EACH)]
            while database.queue.waiting < WAITING_EACH:
                await asyncio.sleep(0)
            with pytest.raises(MunimentError) as refused:
                await ask(database, world.organisation)
            assert refused.value.code is Code.SEARCH_UNAVAILABLE
            assert not any(task.done() for task in asking)
        assert await asyncio.gather(*asking) == [1] * WAITING_EACH
    finally:
        await database.close()


async def test_who_gives_up_waiting_leaves_no_trace(small, world):
    async with AsyncExitStack() as held:
        for _ in range(2):
            await held.enter_async_context(small.snapshot(world.organisation))
        asking = [asyncio.create_task(ask(small, world.organisation)) for _ in range(10)]
        await asyncio.sleep(0.01)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        assert small.queue.waiting == 0
    assert await ask(small, world.organisation) == 1
    assert small.queue.in_use == 0


async def test_what_was_lost_while_idle_is_replaced_unseen(small, world, owner):
    async with AsyncExitStack() as held:
        backends = []
        for _ in range(2):
            session = await held.enter_async_context(small.snapshot(world.organisation))
            backends.append(await session.value(text("SELECT pg_backend_pid()")))
    for backend in backends:
        await owner.execute("SELECT pg_terminate_backend($1, 5000)", backend)
    assert await asyncio.gather(*(ask(small, world.organisation) for _ in range(4))) == [1] * 4


@pytest.mark.parametrize("way", ["rows", "fetch"])
async def test_a_statement_has_an_end(small, world, way):
    async def sleep() -> None:
        async with small.snapshot(world.organisation) as session:
            await getattr(session, way)(text("SELECT pg_sleep(60)"), {})

    with pytest.raises(MunimentError) as refused:
        await sleep()
    assert (refused.value.code, refused.value.retryable) == (Code.SEARCH_UNAVAILABLE, True)
    assert await ask(small, world.organisation) == 1


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("disk_full", "no room"),
        ("read_only_sql_transaction", "no writes"),
        ("too_many_connections", "no connection"),
        ("out_of_memory", "no room"),
        ("io_error", "disk"),
        ("deadlock_detected", "in the way"),
        ("admin_shutdown", "cannot be reached"),
    ],
)
async def test_what_passes_is_told_apart_from_what_was_asked(small, world, raised, said):
    async def fail() -> None:
        async with small.unstamped(world.organisation) as session:
            await session.run(text(f"DO $$ BEGIN RAISE EXCEPTION 'secret' USING ERRCODE = '{raised}'; END $$"))

    with pytest.raises(MunimentError, match=said) as refused:
        await fail()
    assert refused.value.code is Code.SEARCH_UNAVAILABLE
    assert refused.value.retry_after_ms
    assert "secret" not in refused.value.message
    assert await ask(small, world.organisation) == 1


async def test_a_failure_of_ours_stays_one(small, world):
    async def fail() -> None:
        async with small.unstamped(world.organisation) as session:
            await session.run(text("SELECT 1 / 0"))

    with pytest.raises(Exception, match="division") as failed:
        await fail()
    assert not isinstance(failed.value, MunimentError)
