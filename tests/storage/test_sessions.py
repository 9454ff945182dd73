"""The direct way to the driver: rows by position, plans by kind, streams; and what a lost connection leaves behind."""

import asyncio
from contextlib import aclosing

import asyncpg
import pytest
from sqlalchemy import event, text

from app.domain.errors import Code, MunimentError
from app.storage.engine import Database, Plans

SETTINGS = text("SELECT current_setting('plan_cache_mode'), current_setting('enable_seqscan')")
NUMBERS = text("SELECT n FROM generate_series(1, CAST(:last AS int)) AS n")
FRESH, ONCE = ("force_custom_plan", "on"), ("force_generic_plan", "off")


@pytest.fixture
async def lonely(installation):
    """A pool of one connection: what is left on it meets whoever comes next."""
    database = Database.connect(installation.url, pool_size=1)
    yield database
    await database.close()


async def settings(session):
    return tuple(await session.row(SETTINGS))


async def test_rows_come_by_position_and_a_name_may_stand_twice(database, world):
    async with database.snapshot(world.organisation) as session:
        statement = text("SELECT CAST(:a AS int), CAST(:b AS text), CAST(:a AS int) + 1")
        assert [tuple(row) for row in await session.fetch(statement, {"b": "x", "a": 7, "unused": 1})] == [(7, "x", 8)]


async def test_listeners_of_the_engine_hear_of_every_statement(database, world):
    heard = []

    def note(connection, cursor, statement, parameters, context, executemany):
        heard.append(statement)

    engine = database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        async with database.snapshot(world.organisation) as session:
            await session.fetch(NUMBERS, {"last": 1})
            await session.rows(NUMBERS, {"last": 1})
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(heard) == 3  # the transaction's settings come first
    assert "generate_series" in heard[1]


async def test_the_way_of_planning_holds_for_a_statement_and_ends_with_the_transaction(lonely, world):
    async with lonely.snapshot(world.organisation) as session:
        assert await settings(session) == FRESH
        await session.fetch(NUMBERS, {"last": 1})
        assert await settings(session) == ONCE
        await session.fetch(NUMBERS, {"last": 1}, Plans.FRESH)
        assert await settings(session) == FRESH
    async with lonely.snapshot(world.organisation, Plans.ONCE) as session:
        assert await settings(session) == ONCE
    async with lonely.unstamped(world.organisation) as session:
        assert await settings(session) == FRESH


async def test_a_stream_gives_all_rows_in_batches(database, world):
    async with database.snapshot(world.organisation) as session, aclosing(session.stream(NUMBERS, {"last": 5000})) as s:
        batches = [[row[0] for row in batch] async for batch in s]
    assert [number for batch in batches for number in batch] == list(range(1, 5001))
    assert len(batches) > 1


async def test_a_stream_that_is_left_leaves_the_session_usable(lonely, world):
    async with lonely.snapshot(world.organisation) as session:
        async with aclosing(session.stream(NUMBERS, {"last": 100_000})) as batches:
            async for batch in batches:
                assert batch[0][0] == 1
                break
        assert [tuple(row) for row in await session.fetch(NUMBERS, {"last": 1})] == [(1,)]
    async with lonely.snapshot(world.organisation) as session:
        assert await session.value(NUMBERS, {"last": 1}) == 1


@pytest.mark.parametrize("way", ["fetch", "rows", "stream"])
async def test_a_connection_lost_on_the_way_is_told_and_replaced(lonely, world, owner, way):
    async def cut_off():
        async with lonely.snapshot(world.organisation) as session:
            backend = await session.value(text("SELECT pg_backend_pid()"))
            await owner.execute("SELECT pg_terminate_backend($1, 5000)", backend)
            if way == "stream":
                async with aclosing(session.stream(NUMBERS, {"last": 1})) as batches:
                    return [batch async for batch in batches]
            return await getattr(session, way)(NUMBERS, {"last": 1})

    with pytest.raises(MunimentError) as refused:
        await cut_off()
    assert refused.value.code is Code.SEARCH_UNAVAILABLE
    async with lonely.snapshot(world.organisation) as session:
        assert await session.value(NUMBERS, {"last": 1}) == 1


async def test_a_statement_that_fails_or_is_given_up_leaves_a_clean_connection(lonely, world):
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with lonely.snapshot(world.organisation) as session:
            await session.fetch(text("SELECT 1 / CAST(:zero AS int)"), {"zero": 0})
    begun = asyncio.Event()

    async def wait():
        async with lonely.snapshot(world.organisation) as session:
            begun.set()
            await session.fetch(text("SELECT pg_sleep(60)"), {})

    task = asyncio.create_task(wait())
    await begun.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with lonely.snapshot(world.organisation) as session:
        assert await settings(session) == FRESH


async def test_there_is_spare_while_most_connections_are_idle(installation, world):
    database = Database.connect(installation.url, pool_size=2)
    try:
        assert database.has_spare
        async with database.snapshot(world.organisation):
            assert not database.has_spare
        assert database.has_spare
    finally:
        await database.close()
