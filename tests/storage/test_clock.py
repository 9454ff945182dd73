"""The organisation's clock: strictly increasing, held to commit, and what a snapshot sees of it is all there is."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import text

from app.domain.errors import MunimentError
from app.domain.principal import Permission
from app.providers.ids import new_id
from app.storage import tenancy
from app.storage.engine import Database
from app.storage.scope import believed_now, known

WRITERS = 8
CLOCK = text("SELECT system_at FROM organisation_clocks WHERE organisation_id = :organisation")


@pytest.fixture
async def crowd(installation):
    """A pool that holds every writer and reader of these tests at once."""
    database = Database.connect(installation.url, pool_size=WRITERS + 6)
    yield database
    await database.close()


async def clock_of(database, organisation):
    async with database.snapshot(organisation) as session:
        return await session.value(CLOCK, {"organisation": organisation})


async def test_stamps_of_many_writers_at_once_strictly_increase(crowd, world):
    """Each writer finds its own stamp later than the clock it saw before, and no stamp is given out twice."""
    stamps = []

    async def write():
        for _ in range(25):
            before = await clock_of(crowd, world.organisation)
            async with crowd.write(world.organisation) as session:
                # Taken under the lock, so the list is in the order of the locks.
                stamps.append(session.stamp)
                assert session.stamp > before
                assert await session.value(CLOCK, {"organisation": world.organisation}) == session.stamp

    await asyncio.gather(*(write() for _ in range(WRITERS)))
    assert len(stamps) == WRITERS * 25
    assert all(earlier < later for earlier, later in pairwise(stamps))
    assert await clock_of(crowd, world.organisation) == stamps[-1]


async def test_a_clock_ahead_of_the_machine_goes_on_by_a_microsecond(crowd, world, owner):
    ahead = await owner.fetchval(
        "UPDATE organisation_clocks SET system_at = clock_timestamp() + interval '1 hour' WHERE organisation_id = $1 "
        "RETURNING system_at",
        world.organisation,
    )
    for ticks in (1, 2):
        async with crowd.write(world.organisation) as session:
            assert session.stamp == ahead + timedelta(microseconds=ticks)


async def test_the_clock_is_held_to_commit_and_readers_do_not_wait(crowd, world, owner):
    held = "SELECT FROM organisation_clocks WHERE organisation_id = $1 FOR UPDATE NOWAIT"
    before = await clock_of(crowd, world.organisation)
    async with crowd.write(world.organisation) as session:
        await session.value(text("SELECT 1"))
        with pytest.raises(asyncpg.LockNotAvailableError):
            await owner.execute(held, world.organisation)
        assert await clock_of(crowd, world.organisation) == before
        stamp = session.stamp
    await owner.execute(held, world.organisation)
    assert await clock_of(crowd, world.organisation) == stamp


async def test_a_write_that_fails_gives_its_stamp_back(crowd, world):
    before = await clock_of(crowd, world.organisation)

    async def fail():
        async with crowd.write(world.organisation) as session:
            await tenancy.grant(session, new_id(), uuid4(), world.root, Permission.READ)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await clock_of(crowd, world.organisation) == before


async def test_writers_of_two_organisations_do_not_wait_for_each_other(crowd, world, parts):
    other = uuid4()
    await tenancy.create_organisation(parts.database, other, other.hex, "Other")
    async with crowd.write(world.organisation), crowd.write(other) as session:
        assert await session.value(text("SELECT 1")) == 1


async def test_an_unknown_organisation_has_no_clock(crowd):
    with pytest.raises(MunimentError, match="no such organisation"):
        async with crowd.write(uuid4()):
            pass


DIGEST = "md5(coalesce(string_agg(g.id::text, ',' ORDER BY g.id), '')) AS digest, count(*) AS held"
PRESENT = text(
    f"SELECT {DIGEST}, max(g.system_from) AS newest, (SELECT max(d.system_to) FROM grants d WHERE "
    f"d.organisation_id = :organisation) AS closed FROM grants g WHERE {believed_now('g')}"
)
AT = text(f"SELECT {DIGEST} FROM grants g WHERE {known('g')}")
CLOSE_ONE = text(
    "UPDATE grants g SET system_to = :stamp WHERE g.organisation_id = :organisation AND g.id = (SELECT o.id FROM "
    "grants o WHERE o.organisation_id = :organisation AND o.system_to IS NULL AND o.system_from < :stamp "
    "ORDER BY md5(o.id::text || :salt) LIMIT 1)"
)


@dataclass(frozen=True)
class Seen:
    digest: str
    held: int


async def test_a_snapshot_sees_all_up_to_its_clock_and_can_be_asked_again(crowd, world):
    """Writers race, opening and closing facts in transactions of several statements. Each reader notes the clock that
    its snapshot sees and what it found; asked again at that clock, now and at the end, the store says the same."""
    organisation = world.organisation
    seen: dict = {}
    reads = 0

    async def write(number):
        for turn in range(30):
            async with crowd.write(organisation) as session:
                for _ in range(3):
                    await tenancy.grant(session, new_id(), uuid4(), world.root, Permission.READ)
                await session.run(
                    CLOSE_ONE, {"organisation": organisation, "stamp": session.stamp, "salt": f"{number}/{turn}"}
                )

    async def read(done):
        nonlocal reads
        while not done.is_set():
            async with crowd.snapshot(organisation) as session:
                clock = await session.value(CLOCK, {"organisation": organisation})
                now = await session.row(PRESENT, {"organisation": organisation})
                assert now.newest <= clock
                assert now.closed is None or now.closed <= clock
                again = await session.row(AT, {"organisation": organisation, "known_at": clock})
            found = Seen(now.digest, now.held)
            assert found == Seen(again.digest, again.held)
            assert seen.setdefault(clock, found) == found
            reads += 1

    async def look_back(done):
        """Old clocks while the writers go on."""
        nonlocal reads
        while not done.is_set():
            for clock, found in list(seen.items())[::7]:
                async with crowd.snapshot(organisation) as session:
                    again = await session.row(AT, {"organisation": organisation, "known_at": clock})
                assert Seen(again.digest, again.held) == found
                reads += 1
            await asyncio.sleep(0)

    done = asyncio.Event()
    async with asyncio.TaskGroup() as readers:
        for task in (read, read, read, look_back):
            readers.create_task(task(done))
        try:
            await asyncio.gather(*(write(number) for number in range(WRITERS)))
        finally:
            done.set()
    assert len(seen) > 50
    assert len({found.digest for found in seen.values()}) > 50
    async with crowd.snapshot(organisation) as session:
        while seen and reads < 3000:
            for clock, found in seen.items():
                again = await session.row(AT, {"organisation": organisation, "known_at": clock})
                assert Seen(again.digest, again.held) == found
                reads += 1
