"""Nobody takes all the connections: turns by caller and by organisation, and strangers by address."""

import asyncio
from uuid import uuid4

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Principal
from app.identity.admission import Admission
from app.identity.strangers import MOST_ADDRESSES, Strangers
from app.identity.streams import Streams

ORGANISATION = uuid4()


def person(organisation: object = ORGANISATION) -> Principal:
    return Principal(organisation, uuid4(), "somebody")  # type: ignore[arg-type]


class Work:
    """Calls that last until they are told to end."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.end = asyncio.Event()
        self.running = 0
        self.most = 0
        self.tasks: list[asyncio.Task[None]] = []

    def start(self, principal: Principal, calls: int) -> None:
        self.tasks += [asyncio.create_task(self._one(principal)) for _ in range(calls)]

    async def _one(self, principal: Principal) -> None:
        async with self.admission.turn(principal):
            self.running += 1
            self.most = max(self.most, self.running)
            await self.end.wait()
            self.running -= 1

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_a_caller_works_on_a_share_and_the_rest_waits_in_turn() -> None:
    work = Work(Admission(4, 6))
    greedy, modest, elsewhere = person(), person(), person(uuid4())
    work.start(greedy, 40)
    await work.settle()
    assert work.running == 4
    work.start(modest, 1)
    work.start(elsewhere, 3)
    await work.settle()
    assert work.running == 4 + 1 + 3
    work.start(modest, 10)
    await work.settle()
    assert work.running == 6 + 3
    work.end.set()
    await asyncio.gather(*work.tasks)
    assert work.running == 0
    assert work.admission._lines == {}


async def test_who_waits_too_long_or_in_too_long_a_line_is_told_to_come_back() -> None:
    work = Work(Admission(1, 1, most_waiting=2, patience_ms=50))
    caller = person()
    work.start(caller, 4)
    await work.settle()
    [refused] = [task for task in work.tasks if task.done()]
    done, _ = await asyncio.wait(work.tasks[1:])
    for task in {refused, *done}:
        error = task.exception()
        assert isinstance(error, MunimentError)
        assert (error.code, error.retry_after_ms) == (Code.RATE_LIMITED, 1000)
    work.end.set()
    await work.tasks[0]
    assert work.admission._lines == {}
    async with work.admission.turn(caller):
        pass


async def test_who_is_cancelled_while_waiting_leaves_the_line() -> None:
    work = Work(Admission(1, 1))
    work.start(person(), 1)
    await work.settle()
    work.start(person(), 3)
    await work.settle()
    for task in work.tasks[1:]:
        task.cancel()
    await asyncio.gather(*work.tasks[1:], return_exceptions=True)
    work.end.set()
    await work.tasks[0]
    assert work.admission._lines == {}


def test_strangers_are_counted_by_address() -> None:
    now = [0.0]
    strangers = Strangers(3, lambda: now[0])
    for _ in range(3):
        strangers.note("192.0.2.1")
    strangers.note("192.0.2.2")
    now[0] = 10
    with pytest.raises(MunimentError) as refused:
        strangers.note("192.0.2.1")
    assert (refused.value.code, refused.value.retry_after_ms) == (Code.RATE_LIMITED, 50_000)
    now[0] = 60.001
    strangers.note("192.0.2.1")


def test_a_network_of_version_6_is_one_address_and_a_mapped_one_is_its_own() -> None:
    strangers = Strangers(1)
    strangers.note("2001:db8::1")
    with pytest.raises(MunimentError):
        strangers.note("2001:db8::ffff:2")
    strangers.note("2001:db8:0:1::1")
    strangers.note("::ffff:192.0.2.1")
    strangers.note("::ffff:192.0.2.2")
    strangers.note(None)
    with pytest.raises(MunimentError):
        strangers.note(None)


def test_addresses_are_forgotten_and_no_bound_remembers_none() -> None:
    strangers = Strangers(1)
    for number in range(MOST_ADDRESSES + 50):
        strangers.note(f"host-{number}")
    assert len(strangers._seen) == MOST_ADDRESSES
    free = Strangers(0)
    for _ in range(10):
        free.note("192.0.2.1")
    assert free._seen == {}


def test_subscriptions_are_bounded_by_caller_and_in_all() -> None:
    streams = Streams(most=3, of_caller=2)
    one, other = person(), person()
    with streams.opened(one), streams.opened(one):
        with pytest.raises(MunimentError, match="yours"), streams.opened(one):
            pass
        with streams.opened(other), pytest.raises(MunimentError, match="server"), streams.opened(person()):
            pass
    assert streams.count == 0
