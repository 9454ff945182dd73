"""A4. So many calls a minute of one caller and action, whatever process they come to."""

import asyncio
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.limits import BUCKET_SECONDS, BUCKETS, Rates, parse_rates, wait_ms
from app.domain.principal import Principal
from app.identity.rates import RateLimiter
from app.storage import rates
from app.storage.engine import Database
from tests.fixtures.store import World
from tests.retrieval.test_statements import statements

WINDOW_MS = 1000 * BUCKETS * BUCKET_SECONDS


async def refused(limiter: RateLimiter, principal: Principal, action: str) -> MunimentError | None:
    try:
        await limiter.admit(principal, {action: 1})
    except MunimentError as error:
        return error
    return None


async def admitted(limiter: RateLimiter, principal: Principal, calls: int, action: str = "retrieve") -> int:
    """How many of so many calls are let in; all that are refused say when to come back."""
    done = 0
    for _ in range(calls):
        error = await refused(limiter, principal, action)
        if error is None:
            done += 1
        else:
            assert error.code is Code.RATE_LIMITED
            assert error.retryable
            assert error.retry_after_ms is not None
            assert 0 < error.retry_after_ms <= WINDOW_MS + 1000 * BUCKET_SECONDS
    return done


async def test_one_process_lets_in_exactly_as_many(world: World) -> None:
    limiter = RateLimiter(world.parts.database, Rates(60))
    assert await admitted(limiter, world.principal, 90) == 60
    other = Principal(world.organisation, uuid4(), "other")
    assert await admitted(limiter, other, 5) == 5
    key = Principal(world.organisation, world.principal.id, "tester", api_key_id=uuid4())
    assert await admitted(limiter, key, 5) == 5
    assert await admitted(limiter, world.principal, 5, "spaces") == 5


async def test_far_from_the_limit_nobody_waits_for_the_database(world: World) -> None:
    limiter = RateLimiter(world.parts.database, Rates(600))
    with statements(world.parts.database) as run:
        assert await admitted(limiter, world.principal, 30) == 30
    assert run == []
    with statements(world.parts.database) as run:
        await limiter.tell()
        await limiter.tell()
    assert len(run) == 2  # entering, and one for all that was pending
    assert await counted(world) == 30


async def counted(world: World, action: str = "retrieve") -> int:
    async with world.parts.database.unstamped(world.organisation) as session:
        ring = await rates.spend(session, world.principal.caller, action, spent=0, wanted=0, most=0)
    return sum(ring.counts)


@pytest.mark.parametrize("processes", [2, 4])
async def test_processes_together_let_in_as_many_but_for_a_bounded_overrun(world: World, processes: int) -> None:
    most = 200
    limiters = [RateLimiter(world.parts.database, Rates(most)) for _ in range(processes)]
    done = await asyncio.gather(*(admitted(limiter, world.principal, most) for limiter in limiters))
    assert most <= sum(done) <= most + (processes - 1) * (most // 20)
    # Whatever process is asked then: none lets in any more.
    for limiter in limiters:
        assert await admitted(limiter, world.principal, 3) == 0
    fresh = RateLimiter(world.parts.database, Rates(most))
    assert await admitted(fresh, world.principal, most) <= most // 20


async def test_calls_at_once_are_counted_like_calls_in_turn(world: World) -> None:
    limiter = RateLimiter(world.parts.database, Rates(40))

    async def call() -> int:
        return await admitted(limiter, world.principal, 1)

    assert sum(await asyncio.gather(*(call() for _ in range(80)))) == 40


async def test_an_operation_is_let_in_whole_or_not_at_all(world: World) -> None:
    limiter = RateLimiter(world.parts.database, Rates(10))
    await limiter.admit(world.principal, {"me": 8})
    with pytest.raises(MunimentError):
        await limiter.admit(world.principal, {"me": 3})
    await limiter.admit(world.principal, {"me": 2})
    with pytest.raises(MunimentError):
        await limiter.admit(world.principal, {"spaces": 11})
    await limiter.admit(world.principal, {"spaces": 10})


async def test_what_is_refused_does_not_count_and_what_is_old_is_forgotten(world: World, owner: object) -> None:
    now = [1000.0]
    limiter = RateLimiter(world.parts.database, Rates(20), clock=lambda: now[0])
    assert await admitted(limiter, world.principal, 500) == 20
    # A minute goes by: in this process's clock, and in the rows.
    now[0] += (BUCKETS + 1) * BUCKET_SECONDS
    await owner.execute(  # type: ignore[attr-defined]
        "UPDATE rate_counts SET newest = newest - $2 WHERE organisation_id = $1", world.organisation, BUCKETS + 1
    )
    assert await admitted(limiter, world.principal, 500) == 20
    assert await counted(world) == 20


async def test_half_a_window_later_what_is_left_still_counts(world: World, owner: object) -> None:
    limiter = RateLimiter(world.parts.database, Rates(20))
    assert await admitted(limiter, world.principal, 12) == 12
    await limiter.tell()
    await owner.execute(  # type: ignore[attr-defined]
        "UPDATE rate_counts SET newest = newest - 6 WHERE organisation_id = $1", world.organisation
    )
    other = RateLimiter(world.parts.database, Rates(20))
    assert 8 <= await admitted(other, world.principal, 30) <= 9
    await owner.execute(  # type: ignore[attr-defined]
        "UPDATE rate_counts SET newest = newest - 7 WHERE organisation_id = $1", world.organisation
    )
    assert 11 <= await admitted(RateLimiter(world.parts.database, Rates(20)), world.principal, 30) <= 12


async def test_without_the_database_each_process_counts_for_itself(world: World) -> None:
    gone = Database.connect("postgresql+asyncpg://nobody@127.0.0.1:1/nothing", 1)
    limiter = RateLimiter(gone, Rates(30))
    assert await admitted(limiter, world.principal, 60) == 30
    await gone.close()


async def test_no_limit_counts_nothing(world: World) -> None:
    limiter = RateLimiter(world.parts.database, Rates(0, {"retrieve": 4}))
    with statements(world.parts.database) as run:
        await limiter.admit(world.principal, {"spaces": 10_000})
    assert run == []
    assert await admitted(limiter, world.principal, 9) == 4


@pytest.mark.parametrize("text", ["", "retrieve=60", " retrieve = 60 , chat/completions=5,", "me=0"])
def test_limits_of_actions_are_read(text: str) -> None:
    assert all(limit >= 0 for limit in parse_rates(text).values())
    assert Rates(600, parse_rates("retrieve=60")).limit("retrieve") == 60
    assert Rates(600, parse_rates("retrieve=60")).limit("spaces") == 600


@pytest.mark.parametrize(
    "text", ["retrieve", "=5", "retrieve=-1", "retrieve=1.5", "retrieve=٣", "a=1;b=2", f"a={10**10}"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(MunimentError):
        parse_rates(text)


@given(
    st.lists(st.integers(0, 50), min_size=BUCKETS + 1, max_size=BUCKETS + 1),
    st.floats(0, BUCKET_SECONDS - 0.01),
    st.integers(0, 700),
)
def test_after_the_wait_there_is_room_and_not_before(counts: list[int], into: float, room: int) -> None:
    if sum(counts) <= room:
        return
    wait = wait_ms(counts, into, room) / 1000

    def used(later: float) -> int:
        passed = int((into + later) / BUCKET_SECONDS + 1e-9)
        return sum(counts[: max(0, BUCKETS + 1 - passed)])

    assert used(wait + 0.002) <= room
    assert used(wait - 0.01) > room
