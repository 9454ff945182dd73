"""Clients that hang up, at every stage: what was being done for them ends, and nothing of theirs is left."""

import asyncio
import gc
import random
from collections.abc import Callable

import pytest
from sqlalchemy import text

from tests.fixtures.socket import question, served
from tests.schema.conftest import token_of

RETRIEVE = 'query($q: String!) { retrieve(input: {query: $q, spaceKey: "project"}) { attributionId } }'
WRITE = 'mutation($k: String!) { createSpace(input: {parentKey: "/", key: $k, name: "x", level: PROJECT}) { id } }'
WATCH = "subscription($id: ID!) { contextChanged(attributionId: $id) { attribution { id } } }"
BACKENDS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'muniment_app' "
    "AND state <> 'idle' AND pid <> pg_backend_pid()"
)


@pytest.fixture
async def filled(world):
    await world.write("refunds.md", ("# Refunds\n\nRefunds are authorised by tier two agents.", None, None))
    await world.settle()
    return world


async def until(condition: Callable[[], bool], what: str) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)
    assert condition(), what


async def at_rest(world, place) -> None:
    """Nobody is served, no connection is out, and the database does nothing for us."""
    queue = world.parts.database.queue
    await until(lambda: place.gate.inside == 0, "nothing is under way")
    await until(lambda: (queue.in_use, queue.waiting) == (0, 0), "every connection is back")
    async with asyncio.timeout(20), world.parts.background.across() as session:
        while await session.value(BACKENDS):
            await asyncio.sleep(0.01)


async def test_many_hang_up_at_random_moments(filled):
    chance = random.Random(20)
    bearer = f"Authorization: Bearer {token_of(filled)}"
    async with served(filled.parts) as place:

        async def one(number: int) -> None:
            # In the middle of the body, at its end, in the middle of the work, and after the answer.
            body = question(RETRIEVE, q=f"who authorises refunds {number}")
            if number % 5 == 0:
                client = await place.send(body[: chance.randrange(len(body))], bearer, length=len(body))
            else:
                client = await place.send(body, bearer)
            await asyncio.sleep(chance.random() * 0.3)
            client.hang_up()

        await asyncio.gather(*(one(number) for number in range(20)))
        await at_rest(filled, place)
        gc.collect()
        tasks = len(asyncio.all_tasks())
        for _ in range(4):
            await asyncio.gather(*(one(number) for number in range(40)))
        await at_rest(filled, place)
        gc.collect()
        assert len(asyncio.all_tasks()) <= tasks
    answer = await filled.ask("who authorises refunds")
    assert len(answer.passages) == 1


async def test_a_statement_is_cancelled_with_its_client(filled):
    """It waits for a lock that somebody else holds, and would for as long as that one pleases."""
    database = filled.parts.database
    async with served(filled.parts) as place:
        async with database.write(filled.organisation):
            bearer = f"Authorization: Bearer {token_of(filled)}"
            clients = [await place.send(question(WRITE, k=f"k{number}"), bearer) for number in range(3)]
            await until(lambda: database.queue.in_use == 4, "three wait for the lock")
            for client in clients:
                client.hang_up()
            await until(lambda: (database.queue.in_use, place.gate.inside) == (1, 0), "they wait no more")
        await at_rest(filled, place)
        async with database.snapshot(filled.organisation) as session:
            keys = await session.rows(text("SELECT key_path FROM spaces WHERE key_path LIKE 'k%'"))
        assert keys == []


async def test_streams_that_are_left(filled):
    answer = await filled.ask("who authorises refunds")
    watch = filled.parts.watch
    before = watch.count
    async with served(filled.parts) as place:
        body = question(WATCH, id=str(answer.attribution_id))
        headers = (f"Authorization: Bearer {token_of(filled)}", "Accept: text/event-stream")
        clients = [await place.send(body, *headers) for _ in range(20)]
        await until(lambda: watch.count == before + 20, "all of them wait")
        for client in clients:
            client.hang_up()
        await until(lambda: watch.count == before, "none of them waits")
        await at_rest(filled, place)
