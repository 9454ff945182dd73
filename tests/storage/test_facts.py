"""The stored facts on both clocks against the plain model, on random operations; and many writers at once."""

import asyncio
import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from app.domain.errors import Code, MunimentError
from app.domain.instant import FIRST, LAST
from app.domain.memory import EpistemicStatus, MemoryFacts, Owner, TransformType
from app.domain.temporal import ALWAYS, AsOf, Assert, Erase, History, Period, Retract, Update, Version
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.memory.writing import Guard
from app.providers.ids import new_id
from app.storage import memories
from app.storage.facts import Family
from app.storage.memories import owner_columns
from app.storage.subjects import MEMBERSHIPS
from tests.fixtures.store import World, make_world

START = datetime(2026, 1, 1, 0, 0, 0, 250_001, tzinfo=UTC)
TICK = timedelta(microseconds=1)
ARRAYS = HealthCheck.too_slow, HealthCheck.data_too_large


@pytest.fixture(scope="module")
async def shared(parts: Any) -> World:
    """One organisation for every example: facts do not meet."""
    return await make_world(parts)


@dataclass(frozen=True)
class Kind:
    """A family with values of its own, and the columns that its rows carry besides."""

    family: Family[Any]
    values: tuple[Any, ...]

    def owner(self, world: World) -> dict[str, Any]:
        if self.family is MEMBERSHIPS:
            return {"group_id": new_id(), "subject_id": new_id()}
        return owner_columns(Owner(world.project))


FACTS = MemoryFacts(text="Tea.", tokens=2)
KINDS = {
    "memory": Kind(
        memories.VERSIONS,
        (
            FACTS,
            replace(FACTS, importance=0.1, confidence=1e-9, tags=("a", "b c")),
            replace(FACTS, text="Té 茶 \U0001f375", epistemic_status=EpistemicStatus.INFERRED, revision=2),
            replace(FACTS, tags=("a",), transform_type=TransformType.EVOLVE, importance=1.0, confidence=0.0),
        ),
    ),
    "membership": Kind(MEMBERSHIPS, (True, False)),
}

cuts = st.integers(0, 8).map(lambda days: START + timedelta(days=days))


@st.composite
def periods(draw: st.DrawFn) -> Period:
    start, end = draw(st.none() | cuts), draw(st.none() | cuts)
    if start is not None and end is not None and start >= end:
        start, end = (end, start) if start > end else (start, start + TICK)
    return Period(start, end)


@st.composite
def operations(draw: st.DrawFn, values: tuple[Any, ...]) -> Any:
    kind = draw(st.sampled_from([Assert, Assert, Assert, Update, Update, Retract, Retract, Erase]))
    period = draw(periods())
    return kind(period, draw(st.sampled_from(values))) if kind in {Assert, Update} else kind(period)


def transactions(kind: str) -> st.SearchStrategy[list[list[Any]]]:
    """Mostly one operation a transaction, at times several."""
    ops = operations(KINDS[kind].values)
    return st.lists(
        st.lists(ops, min_size=1, max_size=1) | st.lists(ops, min_size=2, max_size=4), min_size=1, max_size=7
    )


@dataclass
class Told:
    """A stored fact beside its model."""

    world: World
    kind: Kind
    fact: UUID
    owner: dict[str, Any]
    model: History[Any]
    stamps: list[datetime]

    async def write(self, ops: list[Any]) -> None:
        family = self.kind.family
        async with self.world.parts.database.write(self.world.organisation) as session:
            for op in ops:
                if isinstance(op, Erase):
                    await family.erase(session, self.fact, op.period, **self.owner)
                else:
                    await family.change(session, self.fact, op, **self.owner)
                self.model.apply(session.stamp, op)
            self.stamps.append(session.stamp)

    async def stored(self) -> list[Version[Any]]:
        async with self.world.parts.database.snapshot(self.world.organisation) as session:
            return [version for _, version in await self.kind.family.history(session, self.fact)]

    async def timeline(self, known_at: datetime) -> tuple[Any, ...]:
        async with self.world.parts.database.snapshot(self.world.organisation) as session:
            found = await self.kind.family.timeline(session, self.fact, known_at)
            return tuple((version.valid, version.value) for _, version in found)


def told(world: World, kind: Kind) -> Told:
    return Told(world, kind, new_id(), kind.owner(world), History(), [])


def joined(versions: list[Version[Any]]) -> list[Version[Any]]:
    """Rows of the same value and valid period whose system periods meet, as one."""
    merged: list[Version[Any]] = []
    for version in sorted(versions, key=lambda item: (item.valid.start or FIRST, item.system.start)):
        last = next((item for item in reversed(merged) if item.valid == version.valid), None)
        if last is not None and last.value == version.value and last.system.meets(version.system):
            merged[merged.index(last)] = replace(last, system=Period(last.system.start, version.system.end))
        else:
            merged.append(version)
    return sorted(merged, key=lambda item: (item.system.start, item.valid.start or FIRST))


def overlapping(versions: list[Version[Any]]) -> list[tuple[Version[Any], Version[Any]]]:
    return [
        (one, other)
        for one, other in combinations(versions, 2)
        if one.valid.overlaps(other.valid) and one.system.overlaps(other.system)
    ]


async def check(fact: Told) -> None:
    stored = await fact.stored()
    # A sliver or a reversed period could not even be read: `Period` refuses it.
    assert overlapping(stored) == []
    assert joined(stored) == list(fact.model.rectangles())
    valid = [FIRST, *(START + timedelta(days=day) + tick for day in range(9) for tick in (-TICK, 0 * TICK, TICK)), LAST]
    for stamp in fact.stamps:
        for known_at in (stamp - TICK, stamp):
            timeline = await fact.timeline(known_at)
            assert timeline == tuple((portion.period, portion.value) for portion in fact.model.timeline(known_at))
            for valid_at in valid:
                point = AsOf(valid_at, known_at)
                found = [version.value for version in stored if version.visible(point)]
                portion = fact.model.at(point)
                assert found == ([] if portion is None else [portion.value])
    assert await fact.timeline(LAST) == await fact.timeline(fact.stamps[-1])


@pytest.mark.parametrize("kind", KINDS)
@bounded(max_examples=25, deadline=None, suppress_health_check=[*ARRAYS, HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_a_stored_fact_agrees_with_the_model_at_every_point(
    shared: World, kind: str, data: st.DataObject
) -> None:
    fact = told(shared, KINDS[kind])
    for ops in data.draw(transactions(kind)):
        await fact.write(ops)
    await check(fact)


@bounded(max_examples=12, deadline=None, suppress_health_check=[*ARRAYS, HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_a_point_is_read_in_the_database_as_the_model_has_it(shared: World, data: st.DataObject) -> None:
    """The SQL predicates themselves, at every boundary of both clocks and a tick before."""
    fact = told(shared, KINDS["memory"])
    for ops in data.draw(transactions("memory")):
        await fact.write(ops)
    async with shared.parts.database.snapshot(shared.organisation) as session:
        for known_at in {moment for stamp in fact.stamps for moment in (stamp - TICK, stamp)}:
            for valid_at in [
                FIRST,
                *(START + timedelta(days=day) - tick for day in range(9) for tick in (TICK, 0 * TICK)),
            ]:
                found = await memories.at(session, [fact.fact], valid_at, known_at)
                portion = fact.model.at(AsOf(valid_at, known_at))
                assert [item.facts for item in found] == ([] if portion is None else [portion.value])


async def test_operations_of_one_transaction_leave_only_their_last_state(shared: World) -> None:
    fact = told(shared, KINDS["membership"])
    await fact.write([Assert(ALWAYS, True)])
    await fact.write([Retract(ALWAYS), Assert(Period(START, None), False), Assert(Period(None, START), False)])
    await fact.write(
        [Assert(ALWAYS, True), Retract(Period(START, START + TICK)), Assert(Period(START, START + TICK), False)]
    )
    await fact.write([Assert(Period(START, None), False), Retract(ALWAYS)])
    await check(fact)
    assert await fact.timeline(LAST) == ()
    # Nothing that was never visible is left behind.
    assert {version.system.start for version in await fact.stored()} == set(fact.stamps[:3])


async def test_a_fact_that_comes_and_goes_within_a_transaction_leaves_nothing(shared: World) -> None:
    fact = told(shared, KINDS["memory"])
    await fact.write(
        [Assert(ALWAYS, FACTS), Update(Period(START, None), replace(FACTS, importance=0.9)), Retract(ALWAYS)]
    )
    assert await fact.stored() == []


async def test_what_is_erased_is_gone_on_every_clock(shared: World) -> None:
    secret = replace(FACTS, text="Secret.")
    fact = told(shared, KINDS["memory"])
    await fact.write([Assert(ALWAYS, secret)])
    await fact.write([Update(Period(START, None), FACTS)])
    await fact.write([Retract(Period(START, START + timedelta(days=1)))])
    await fact.write([Erase(Period(None, START))])
    await check(fact)
    for known_at in fact.stamps:
        assert all(valid.start is not None and valid.start >= START for valid, _ in await fact.timeline(known_at))
    await fact.write([Erase()])
    assert await fact.stored() == []


async def remember(world: World, text: str = "0") -> str:
    made = await world.parts.memory.remember(
        world.principal, Named(space_key="project"), Changes(text=text), since=None, until=None, from_now=False
    )
    return str(made.memory_id)


async def rows_of(world: World, memory: str) -> list[Version[MemoryFacts]]:
    async with world.parts.database.snapshot(world.organisation) as session:
        return [version for _, version in await memories.VERSIONS.history(session, UUID(memory))]


WRITERS, TURNS = 8, 25


async def test_many_writers_of_one_fact_lose_nothing(world: World) -> None:
    memory = await remember(world)

    async def writer(number: int) -> None:
        for turn in range(TURNS):
            await world.parts.memory.correct(world.principal, memory, Changes(text=f"{number}/{turn}"))

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    rows = await rows_of(world, memory)
    assert sorted(row.value.text for row in rows) == sorted(
        ["0", *(f"{number}/{turn}" for number in range(WRITERS) for turn in range(TURNS))]
    )
    assert all(row.valid == ALWAYS for row in rows)
    assert all(one.system.meets(other.system) for one, other in pairwise(rows))
    assert [row.system.end for row in rows].index(None) == len(rows) - 1
    for number in range(WRITERS):
        own = [row.value.text for row in rows if row.value.text.startswith(f"{number}/")]
        assert own == [f"{number}/{turn}" for turn in range(TURNS)]


async def test_writers_of_parts_keep_what_the_others_wrote(world: World) -> None:
    """Each changes another part of the same memory; a write that went by an older belief would undo the others."""
    memory = await remember(world)
    parts = (
        [Changes(text=str(turn)) for turn in range(TURNS)],
        [Changes(importance=turn / TURNS) for turn in range(TURNS)],
        [Changes(confidence=turn / TURNS) for turn in range(TURNS)],
        [Changes(tags=(str(turn),)) for turn in range(TURNS)],
    )

    async def writer(all_changes: list[Changes]) -> None:
        for changes in all_changes:
            await world.parts.memory.correct(world.principal, memory, changes)

    await asyncio.gather(*(writer(changes) for changes in parts))
    rows = await rows_of(world, memory)
    last = (TURNS - 1) / TURNS
    facts = rows[-1].value
    assert (facts.text, facts.importance, facts.confidence, facts.tags) == (
        str(TURNS - 1),
        last,
        last,
        (str(TURNS - 1),),
    )
    moves = [
        sum(
            getattr(one.value, part) != getattr(other.value, part)
            for part in ("text", "importance", "confidence", "tags")
        )
        for one, other in pairwise(rows)
    ]
    assert set(moves) == {1}


async def test_counting_by_reading_and_writing_with_the_last_change_loses_no_count(world: World) -> None:
    memory = await remember(world)
    conflicts = 0

    async def count() -> None:
        nonlocal conflicts
        done = 0
        while done < 10:
            [row] = [row for row in await rows_of(world, memory) if row.system.end is None]
            try:
                await world.parts.memory.correct(
                    world.principal,
                    memory,
                    Changes(text=str(int(row.value.text) + 1)),
                    guard=Guard(expected=row.system.start),
                )
            except MunimentError as error:
                if (error.code, error.field) != (Code.CONFLICT, "expectedSystemFrom"):
                    raise
                conflicts += 1
                assert conflicts < 1000, "the last change that was read is never accepted"
            else:
                done += 1

    await asyncio.gather(*(count() for _ in range(4)))
    rows = await rows_of(world, memory)
    assert [row.value.text for row in rows] == [str(number) for number in range(41)]
    assert conflicts > 0


async def test_writers_of_many_facts_of_one_organisation_neither_deadlock_nor_share_an_instant(world: World) -> None:
    """Each writer touches the same facts in an order of its own, several in one transaction."""
    facts = [told(world, KINDS["membership"]) for _ in range(5)]
    written: dict[datetime, dict[UUID, bool]] = {}

    async def writer(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(TURNS):
            values = {fact.fact: chance.random() < 0.5 for fact in chance.sample(facts, 3)}
            async with world.parts.database.write(world.organisation) as session:
                for fact in facts:
                    if fact.fact in values:
                        await MEMBERSHIPS.change(session, fact.fact, Assert(ALWAYS, values[fact.fact]), **fact.owner)
                assert session.stamp not in written
                written[session.stamp] = values

    await asyncio.gather(*(writer(seed) for seed in range(WRITERS)))
    assert len(written) == WRITERS * TURNS
    for fact in facts:
        for stamp in sorted(written):
            if fact.fact in written[stamp]:
                fact.model.apply(stamp, Assert(ALWAYS, written[stamp][fact.fact]))
                fact.stamps.append(stamp)
        stored = await fact.stored()
        assert overlapping(stored) == []
        assert stored == list(fact.model.rectangles())


async def test_an_older_last_change_is_a_conflict_and_changes_nothing(world: World) -> None:
    memory = await remember(world)
    [first] = await rows_of(world, memory)
    assert first.system.start is not None
    await world.parts.memory.correct(
        world.principal, memory, Changes(text="1"), guard=Guard(expected=first.system.start)
    )
    for expected in (first.system.start, first.system.start - TICK, FIRST):
        for work in (
            world.parts.memory.correct(world.principal, memory, Changes(text="2"), guard=Guard(expected=expected)),
            world.parts.memory.change(world.principal, memory, Changes(text="2"), None, guard=Guard(expected=expected)),
            world.parts.memory.retract(world.principal, memory, guard=Guard(expected=expected)),
        ):
            with pytest.raises(MunimentError) as refused:
                await work
            assert (refused.value.code, refused.value.field) == (Code.CONFLICT, "expectedSystemFrom")
    assert [row.value.text for row in await rows_of(world, memory)] == ["0", "1"]


async def test_the_last_change_that_counts_is_that_of_the_period(world: World) -> None:
    """Who read the present may write it, though somebody corrected the past meanwhile; and any later clock will do."""
    memory = await remember(world)
    changed = await world.parts.memory.change(world.principal, memory, Changes(text="1"), START)
    past = await world.parts.memory.correct(world.principal, memory, Changes(text="2"), Period(None, START))
    assert past.system_from > changed.system_from
    guard = Guard(expected=changed.system_from)
    again = await world.parts.memory.change(world.principal, memory, Changes(text="3"), START, guard=guard)
    assert again.facts.text == "3"
    with pytest.raises(MunimentError, match="meanwhile"):
        await world.parts.memory.correct(
            world.principal, memory, Changes(text="4"), guard=Guard(expected=past.system_from)
        )
    later = Guard(expected=again.system_from + timedelta(hours=1))
    assert (await world.parts.memory.correct(world.principal, memory, Changes(text="5"), guard=later)).facts.text == "5"
