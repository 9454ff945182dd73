"""Deliveries whose items have moved since, and those whose items have not, whatever else was written."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from app.domain.principal import Permission
from app.evidence.indexing import index_delivered
from app.evidence.staleness import MovementKind, Stale, moved_of, stale
from app.retrieval.answer import Answer
from tests.fixtures.store import World
from tests.memory.conftest import Memories
from tests.retrieval.test_statements import statements

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TIN = "# Tea\n\nTea is kept in the {} tin.\n\n## Water\n\nWater comes from the well."


async def listed(world: World, since: datetime = LONG_AGO, **options: Any) -> list[Stale]:
    await world.parts.sequencer.sweep()
    by = options.pop("by", world.principal)
    return await stale(world.parts.database, by, since, limit=100, **options)


async def kinds(world: World, answer: Answer) -> set[MovementKind]:
    """Of one delivery, as both ways of asking tell it."""
    alone = (await moved_of(world.parts.database, world.principal, str(answer.attribution_id))).moved
    among = {found.attribution.id: found.moved for found in await listed(world)}
    assert among.get(answer.attribution_id, ()) == alone
    return {moved.kind for moved in alone}


async def told(world: World) -> Answer:
    await world.write("tea.md", (TIN.format("red"), None, None))
    answer = await world.ask("where is the tea kept", top_k=1)
    assert len(answer.passages) == 1
    return answer


async def test_nothing_has_moved_of_what_nobody_touched(world: World) -> None:
    answer = await told(world)
    await world.write("coffee.md", ("Coffee is kept in the blue tin.", None, None))
    await world.settle()
    assert await kinds(world, answer) == set()


async def test_a_correction(world: World) -> None:
    answer = await told(world)
    before = answer.contract.known_at
    await world.write("tea.md", (TIN.format("green"), None, None))
    assert await kinds(world, answer) == {MovementKind.CORRECTED}
    [found] = await listed(world, before)
    [moved] = found.moved
    assert (moved.item, moved.whole) == (answer.passages[0].candidate.id, answer.passages[0].candidate.document_id)
    assert moved.at is not None
    assert moved.at > before
    assert await listed(world, moved.at) == []


async def test_a_retraction(world: World) -> None:
    answer = await told(world)
    await world.write("tea.md")
    assert await kinds(world, answer) == {MovementKind.RETRACTED}


async def test_a_change_of_the_world(world: World) -> None:
    answer = await told(world)
    changed = answer.contract.valid_at + timedelta(microseconds=1)
    await world.write("tea.md", (TIN.format("red"), None, changed), (TIN.format("green"), changed, None))
    assert await kinds(world, answer) == {MovementKind.CHANGED}


async def test_that_a_row_was_cut_anew_is_no_movement(world: World) -> None:
    answer = await told(world)
    later = datetime.now(UTC) + timedelta(days=1)
    # The passage stays as it is in both versions; only its document is another.
    other = TIN.format("red").replace("well", "river")
    await world.write("tea.md", (TIN.format("red"), None, LONG_AGO), (other, LONG_AGO, None))
    assert "red tin" in answer.passages[0].passage.text
    assert await kinds(world, answer) == set()
    # That it will end one day is no movement yet.
    await world.write("tea.md", (other, None, later))
    assert await kinds(world, answer) == set()
    # What is corrected after that is found, though the delivered row was closed long before.
    since = datetime.now(UTC)
    await world.write("tea.md", (TIN.format("green"), None, None))
    assert await kinds(world, answer) == {MovementKind.CORRECTED}
    assert [found.attribution.id for found in await listed(world, since)] == [answer.attribution_id]


async def test_what_is_set_right_again_has_not_moved(world: World) -> None:
    answer = await told(world)
    await world.write("tea.md", (TIN.format("green"), None, None))
    await world.write("tea.md", (TIN.format("red"), None, None))
    assert await kinds(world, answer) == set()


async def test_memories(world: World, memory: Memories) -> None:
    made = await memory.remember("ada likes tea", subjectId="ada")
    answer = await world.ask("what does ada like", subject_id="ada")
    await memory.correct(made["id"], importance=0.9)
    assert await kinds(world, answer) == set()
    await memory.correct(made["id"], text="ada likes coffee")
    assert await kinds(world, answer) == {MovementKind.CORRECTED}
    await memory.retract(made["id"])
    assert await kinds(world, answer) == {MovementKind.RETRACTED}
    before = datetime.now(UTC)
    await memory.forget("ada")
    assert await kinds(world, answer) == {MovementKind.ERASED}
    [found] = await listed(world, before)
    [moved] = found.moved
    assert moved.at is not None
    assert moved.at > before


async def test_a_source_that_was_removed(world: World, owner: asyncpg.Connection) -> None:
    answer = await told(world)
    await close_source(world, owner, world.source.id)
    assert await kinds(world, answer) == {MovementKind.SOURCE_REMOVED}


async def close_source(world: World, owner: asyncpg.Connection, source: UUID) -> None:
    """As its deletion does: the source is no longer believed to be."""
    async with world.parts.database.write(world.organisation) as write:
        stamp = write.stamp
    await owner.execute(
        "UPDATE sources SET system_to = $1 WHERE organisation_id = $2 AND id = $3 AND system_to IS NULL",
        stamp,
        world.organisation,
        source,
    )


async def test_pages_and_who_may_see(world: World) -> None:
    await world.write("tea.md", (TIN.format("red"), None, None))
    ann = await world.add_person("ann", (world.project, Permission.SEARCH))
    answers = [await world.ask("where is the tea kept", top_k=1) for _ in range(5)]
    hers = await world.ask("where is the tea kept", top_k=1, by=ann)
    await world.write("tea.md", (TIN.format("green"), None, None))
    everything = [hers, *reversed(answers)]
    assert [found.attribution.id for found in await listed(world)] == [item.attribution_id for item in everything]
    assert [found.attribution.id for found in await listed(world, by=ann)] == [hers.attribution_id]
    page = await stale(world.parts.database, world.principal, LONG_AGO, limit=4)
    rest = await stale(world.parts.database, world.principal, LONG_AGO, after=page[-1].attribution.id, limit=4)
    assert [found.attribution.id for found in (*page, *rest)] == [item.attribution_id for item in everything]


@pytest.mark.parametrize("deliveries", [2, 9])
async def test_so_many_statements_however_many_deliveries(world: World, deliveries: int) -> None:
    await world.write("tea.md", (TIN.format("red"), None, None))
    for _ in range(deliveries):
        await world.ask("where is the tea kept")
    await world.write("tea.md", (TIN.format("green"), None, None))
    await world.parts.sequencer.sweep()
    await index_delivered(world.parts.database, world.organisation)
    with statements(world.parts.database) as run:
        assert len(await stale(world.parts.database, world.principal, LONG_AGO, limit=100)) == deliveries
    # Three to see that no items are to be indexed; entering, two for what the caller may see, what moved, the records.
    assert len(run) == 8
