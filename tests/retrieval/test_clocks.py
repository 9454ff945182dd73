"""T1 to T3 at the surface of a retrieval: which moment of each clock is read, and what is there."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.instant import FIRST, LAST
from tests.fixtures.store import make_world

TICK = timedelta(microseconds=1)
PAST = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def texts(answer):
    return sorted(item.passage.text for item in answer.passages)


async def test_a_later_known_at_is_the_clock_and_told(world):
    await world.write("a.txt", ("Refunds.", None, None))
    clock = (await world.ask("refunds")).contract.known_at
    for known_at in (clock, clock + TICK, clock + timedelta(days=999), LAST):
        answer = await world.ask("refunds", known_at=known_at)
        assert answer.contract.known_at == clock
        assert texts(answer) == ["Refunds."]


async def test_the_clock_is_the_last_write_and_reading_does_not_move_it(world):
    await world.write("a.txt", ("Refunds.", None, None))
    first = await world.ask("refunds")
    second = await world.ask("refunds")
    assert first.contract.known_at == second.contract.known_at == first.passages[0].passage.system_from
    await world.write("b.txt", ("Other.", None, None))
    assert (await world.ask("refunds")).contract.known_at > first.contract.known_at


async def test_valid_at_is_now_unless_the_clock_is_ahead(world):
    before = datetime.now(UTC)
    answer = await world.ask("refunds")
    assert before - timedelta(seconds=5) < answer.contract.valid_at < datetime.now(UTC) + timedelta(seconds=5)
    assert answer.contract.valid_at >= answer.contract.known_at
    ahead = timedelta(days=30)
    async with world.parts.database.write(world.organisation) as session:
        future = session.stamp + ahead
        await _set_clock(session, future)
    answer = await world.ask("refunds")
    assert answer.contract.valid_at == answer.contract.known_at == future
    # Known from a moment that the wall has not reached, and so true at that moment too.
    await world.write("a.txt", ("Refunds.", future, None))
    assert texts(await world.ask("refunds")) == ["Refunds."]


async def _set_clock(session, instant):
    await session.run(
        text("UPDATE organisation_clocks SET system_at = :instant WHERE organisation_id = :organisation"),
        {"instant": instant, "organisation": session.organisation},
    )


async def test_what_will_hold_is_absent_now_and_present_then(world):
    start = datetime.now(UTC) + timedelta(days=10)
    await world.write("a.txt", ("Refunds from next week.", start, start + timedelta(days=5)))
    assert texts(await world.ask("refunds")) == []
    assert texts(await world.ask("refunds", as_of=start - TICK)) == []
    assert texts(await world.ask("refunds", as_of=start)) == ["Refunds from next week."]
    assert texts(await world.ask("refunds", as_of=start + timedelta(days=5) - TICK)) == ["Refunds from next week."]
    assert texts(await world.ask("refunds", as_of=start + timedelta(days=5))) == []


@bounded(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 10**9), min_size=2, max_size=6, unique=True).map(sorted),
    ended=st.booleans(),
    embed=st.booleans(),
)
async def test_at_each_boundary_the_next_revision_holds_and_a_microsecond_before_the_last_one(
    parts, cuts, ended, embed
):
    world = await make_world(parts)
    instants = [PAST + timedelta(microseconds=cut) for cut in cuts]
    ends = [*instants[1:], instants[-1] + TICK if ended else None]
    revisions = [
        (f"Refunds follow rule {number}.", start, end)
        for number, (start, end) in enumerate(zip(instants, ends, strict=True))
    ]
    await world.write("rule.txt", *revisions, embed=embed)
    if embed:
        await world.settle()
    for (earlier, *_), (later, start, _) in pairwise(revisions):
        assert texts(await world.ask("refunds", as_of=start - TICK)) == [earlier]
        assert texts(await world.ask("refunds", as_of=start)) == [later]
    assert texts(await world.ask("refunds", as_of=instants[0] - TICK)) == []
    last = [] if ended else [revisions[-1][0]]
    assert texts(await world.ask("refunds")) == last
    assert texts(await world.ask("refunds", as_of=instants[-1])) == [revisions[-1][0]]
    assert texts(await world.ask("refunds", as_of=instants[-1] + TICK)) == last


async def test_a_correction_leaves_the_old_belief_to_the_old_clock(world):
    await world.write("a.txt", ("Refunds take five days.", PAST, None))
    await world.settle()
    old = (await world.ask("refunds")).contract
    await world.write("a.txt", ("Refunds take nine days.", PAST, None))
    assert texts(await world.ask("refunds")) == ["Refunds take nine days."]
    assert texts(await world.ask("refunds", as_of=PAST)) == ["Refunds take nine days."]
    for as_of in (None, PAST, old.valid_at):
        answer = await world.ask("refunds", as_of=as_of, known_at=old.known_at)
        assert texts(answer) == ["Refunds take five days."]
        assert answer.contract.known_at == old.known_at
    after = (await world.ask("refunds")).contract.known_at
    assert texts(await world.ask("refunds", known_at=after - TICK)) == ["Refunds take five days."]


async def test_an_end_that_was_learnt_late_shows_from_then_on_only(world):
    """CASE 27 with the system's own clock."""
    await world.write("a.txt", ("Refunds are allowed.", PAST, None))
    ignorant = (await world.ask("refunds")).contract.known_at
    end = PAST + timedelta(days=15)
    await world.write("a.txt", ("Refunds are allowed.", PAST, end))
    asked = end + timedelta(days=1)
    assert texts(await world.ask("refunds", as_of=asked, known_at=ignorant)) == ["Refunds are allowed."]
    assert texts(await world.ask("refunds", as_of=asked)) == []
    assert texts(await world.ask("refunds", as_of=end - TICK)) == ["Refunds are allowed."]


async def test_a_retraction_hides_nothing_from_the_old_clock(world):
    await world.write("a.txt", ("Refunds.", None, None))
    await world.settle()
    old = (await world.ask("refunds")).contract.known_at
    await world.write("a.txt")
    assert texts(await world.ask("refunds")) == []
    assert texts(await world.ask("refunds", known_at=old)) == ["Refunds."]


async def test_before_anything_was_known_nothing_is_found(world):
    await world.write("a.txt", ("Refunds.", None, None))
    for known_at in (FIRST, datetime(1970, 1, 1, tzinfo=UTC)):
        answer = await world.ask("refunds", space_id=None, known_at=known_at)
        assert (answer.passages, answer.contract.known_at) == ((), known_at)


@pytest.mark.parametrize("as_of", [FIRST, FIRST + TICK, LAST, datetime(9999, 12, 31, tzinfo=UTC)])
async def test_the_ends_of_the_calendar_are_moments_like_others(world, as_of):
    await world.write("a.txt", ("Refunds always.", None, None))
    await world.write("b.txt", ("Refunds once.", PAST, PAST + TICK))
    answer = await world.ask("refunds", as_of=as_of)
    assert texts(answer) == ["Refunds always."]
    assert answer.contract.valid_at == as_of


async def test_an_offset_does_not_change_the_moment(world):
    await world.write("a.txt", ("Refunds.", PAST, None))
    elsewhere = PAST.astimezone(timezone(timedelta(hours=14)))
    assert texts(await world.ask("refunds", as_of=elsewhere)) == ["Refunds."]
    answer = await world.ask("refunds", as_of=elsewhere - TICK)
    assert texts(answer) == []
    assert answer.contract.valid_at.tzinfo is UTC


async def test_what_a_racing_snapshot_saw_is_seen_again_at_its_clock(world):
    """T3: writers and readers at once; every answer is then given again at the clock it recorded."""
    stop = asyncio.Event()

    async def writer(number):
        for turn in range(6):
            await world.write(f"doc-{number}.txt", (f"Refunds {number} in turn {turn}.", None, None))

    async def reader():
        seen = []
        while not stop.is_set():
            seen.append(await world.ask("refunds", top_k=50, max_per_level=50))
        return seen

    readers = [asyncio.create_task(reader()) for _ in range(3)]
    await asyncio.gather(*(writer(number) for number in range(4)))
    stop.set()
    answers = [answer for seen in await asyncio.gather(*readers) for answer in seen]
    distinct = {answer.contract.known_at: answer for answer in answers}
    assert len(distinct) > 3
    for answer in distinct.values():
        clocks = {"as_of": answer.contract.valid_at, "known_at": answer.contract.known_at}
        assert (await world.ask("refunds", top_k=50, max_per_level=50, **clocks)).passages == answer.passages
    same = [answer for answer in answers if answer is not distinct[answer.contract.known_at]]
    assert all(texts(answer) == texts(distinct[answer.contract.known_at]) for answer in same)


async def test_a_document_and_its_chunk_agree_on_every_moment(world):
    """The citation is that of the version that held, though the text stayed the same through a change beside it."""
    later = PAST + timedelta(days=1)
    steady = "# Steady\n\nRefunds never change here."
    await world.write(
        "a.md", (f"{steady}\n\n# Moving\n\nFirst.", PAST, later), (f"{steady}\n\n# Moving\n\nSecond.", later, None)
    )
    await world.settle()
    answers = [await world.ask("steady refunds never change", as_of=moment) for moment in (PAST, later)]
    one, two = (next(item for item in answer.passages if "Steady" in item.passage.text) for answer in answers)
    assert one.candidate.id == two.candidate.id
    assert one.passage.version_id != two.passage.version_id
    assert replace(one.passage, version_id=two.passage.version_id) == two.passage
