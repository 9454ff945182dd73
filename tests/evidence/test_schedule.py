"""The regular verification: due by the database's clock, made by one process, found again after a restart."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.evidence import schedule
from app.evidence.schedule import Schedule
from app.storage import verifications
from tests.evidence.support import enqueue, queue_of
from tests.evidence.test_verification import runs_of
from tests.fixtures.store import make_world

NOW = timedelta(0)


@pytest.fixture
async def planned(office, parts, monkeypatch):
    """The schedule of one organisation; those of all the other tests are left alone."""
    world = await make_world(parts)
    mine = {world.organisation}

    async def due(session, limit, everything=verifications.due):
        return [one for one in await everything(session, 100_000) if one.organisation in mine]

    monkeypatch.setattr(schedule.verifications, "due", due)

    async def nothing_signed(_organisation):
        return []

    def begin(hours: float = 24) -> Schedule:
        return Schedule(office.database, office.keys, office.heads, nothing_signed, hours)

    await enqueue(office.database, world.organisation, 3)
    await office.sequencer.turn(world.organisation)
    return world.organisation, begin


async def set_due(office, organisation, when: str = "clock_timestamp()", claimed: str = "NULL") -> None:
    async with office.database.unstamped(organisation) as session:
        await session.run(
            text(
                f"UPDATE verification_schedules SET due_at = {when}, claimed_until = {claimed} "
                "WHERE organisation_id = :organisation"
            ),
            {"organisation": organisation},
        )


async def due_in(office, organisation) -> float:
    """Hours until the next run."""
    async with office.database.unstamped(organisation) as session:
        return await session.value(
            text(
                "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 / 3600 FROM verification_schedules "
                "WHERE organisation_id = :organisation"
            ),
            {"organisation": organisation},
        )


async def test_it_is_planned_within_one_interval_and_then_comes_every_interval(office, planned):
    organisation, begin = planned
    assert await begin().sweep() == 0
    assert 0 <= await due_in(office, organisation) <= 24
    await set_due(office, organisation, "clock_timestamp() + interval '1 hour'")
    assert await begin().sweep() == 0
    assert await runs_of(office.database, organisation) == []

    await set_due(office, organisation)
    assert await begin().sweep() == 1
    assert await begin().sweep() == 0
    assert 23.9 < await due_in(office, organisation) <= 24 * (1 + schedule.JITTER)
    (run,) = await runs_of(office.database, organisation)
    assert (run.verdict, run.checked_records, run.requested_by) == ("VALID", 3, None)
    # That it was made is itself in the chain.
    (event,) = await queue_of(office.database, organisation)
    assert b'"occasion":"SCHEDULE"' in event.payload


async def test_an_empty_chain_stays_empty(office, planned):
    organisation, begin = planned
    other = uuid4()
    async with office.database.unstamped(other) as session:
        await verifications.plan(session, NOW)
    async with office.database.unstamped(organisation) as session:
        await verifications.plan(session, NOW)
    assert await begin().sweep() == 1
    assert await queue_of(office.database, other) == []


async def test_many_processes_make_one_run(office, planned):
    organisation, begin = planned
    async with office.database.unstamped(organisation) as session:
        await verifications.plan(session, NOW)
    made = await asyncio.gather(*(begin().sweep() for _ in range(8)))
    assert sorted(made) == [0] * 7 + [1]
    assert len(await runs_of(office.database, organisation)) == 1


async def test_a_claim_outlives_nobody_for_long(office, planned):
    organisation, begin = planned
    async with office.database.unstamped(organisation) as session:
        await verifications.plan(session, NOW)
    async with office.database.unstamped(organisation) as session:
        assert await verifications.claim(session, uuid4(), schedule.LEASE)
    # The other process may be at it still, then it has died.
    assert await begin().sweep() == 0
    await set_due(office, organisation, claimed="clock_timestamp() - interval '1 second'")
    assert await begin().sweep() == 1


async def test_a_claim_is_held_while_a_long_chain_is_read(office, planned, monkeypatch):
    organisation, begin = planned
    monkeypatch.setattr(schedule, "LEASE", timedelta(seconds=0.2))
    gate = asyncio.Event()

    async def slow(organisation):
        await gate.wait()
        return []

    held = begin()
    held._signed = slow
    async with office.database.unstamped(organisation) as session:
        await verifications.plan(session, NOW)
    task = asyncio.create_task(held.sweep())
    await asyncio.sleep(0.6)
    assert await begin().sweep() == 0
    gate.set()
    assert await task == 1
    assert len(await runs_of(office.database, organisation)) == 1


async def test_a_failure_is_made_up_for(office, planned):
    organisation, begin = planned
    async with office.database.unstamped(organisation) as session:
        await verifications.plan(session, NOW)

    async def broken(organisation):
        raise OSError("no disk")

    failing = begin()
    failing._signed = broken
    assert await failing.sweep() == 0
    await set_due(office, organisation)
    assert await begin().sweep() == 1
