"""A fact with a long history costs no more to read now, or to write, than one without: counted in rows, not in time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.sql.elements import TextClause

from app.domain.memory import MemoryFacts, Owner
from app.domain.temporal import ALWAYS, Assert
from app.providers.ids import new_id
from app.storage import memories, search_memory
from app.storage.engine import Plans
from app.storage.memories import VERSIONS, owner_columns
from app.storage.search_memory import Owners
from app.storage.subjects import MEMBERSHIPS
from tests.fixtures.owner import connection
from tests.fixtures.store import World, make_world

PAST = 150
FACTS = MemoryFacts(text="Tea.", tokens=2)


@pytest.fixture(scope="module")
async def old(parts: Any, owner_url: str) -> tuple[World, UUID, UUID]:
    """A memory that was corrected and used 150 times, and a membership that was changed as often."""
    world = await make_world(parts)
    memory, membership = new_id(), new_id()
    owner, names = owner_columns(Owner(world.project)), {"group_id": new_id(), "subject_id": new_id()}
    async with parts.database.write(world.organisation) as session:
        await memories.create(session, memory, Owner(world.project))
    for turn in range(PAST):
        async with parts.database.write(world.organisation) as session:
            facts = MemoryFacts(text="Tea.", tokens=2, importance=turn / PAST)
            await VERSIONS.change(session, memory, Assert(ALWAYS, facts), **owner)
            await MEMBERSHIPS.change(session, membership, Assert(ALWAYS, bool(turn % 2)), **names)
            await memories.count_access(session, [memory])
    async with connection(owner_url) as owning:
        await owning.execute("ANALYZE memory_versions, memberships, memory_accesses")
    return world, memory, membership


async def touched(world: World, statement: TextClause, parameters: dict[str, Any]) -> int:
    """Rows that the plan's nodes read or threw away."""
    async with world.parts.database.snapshot(world.organisation, Plans.INDEXED) as session:
        explained = text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}")
        plan = await session.value(explained, {"organisation": world.organisation, **parameters})
        await session.value(text("SELECT 1"))
    found = plan if isinstance(plan, list) else json.loads(plan)

    def count(node: dict[str, Any]) -> float:
        own = node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)
        return own * node.get("Actual Loops", 1) + sum(count(child) for child in node.get("Plans", ()))

    return round(count(found[0]["Plan"]))


async def test_the_present_of_a_fact_is_read_past_its_history(old: tuple[World, UUID, UUID]) -> None:
    world, memory, membership = old
    assert await touched(world, VERSIONS._believed, {"facts": [memory]}) < 10
    assert await touched(world, MEMBERSHIPS._believed, {"facts": [membership]}) < 10
    unused = {"ids": [], "stamp": datetime.now(UTC)}
    assert await touched(world, VERSIONS._close, unused) < 10


@pytest.mark.parametrize("present", [True, False])
async def test_a_memory_that_was_used_often_is_recalled_as_fast(old: tuple[World, UUID, UUID], present: bool) -> None:
    world, memory, _ = old
    async with world.parts.database.snapshot(world.organisation) as session:
        changes = await session.rows(text("SELECT system_from FROM memory_accesses ORDER BY system_from"))
    asked: dict[str, Any] = {"valid_at": datetime.now(UTC) + timedelta(days=1), "owner": [world.project], "limit": 10}
    if not present:
        asked["known_at"] = changes[PAST // 2].system_from
    statement = search_memory._leg(Owners.SPACES, present, False)
    async with world.parts.database.snapshot(world.organisation) as session:
        [row] = await session.rows(statement, {"organisation": world.organisation, **asked})
    assert row.memory_id == memory
    assert row.access_count == (PAST if present else PAST // 2 + 1)
    if present:
        assert await touched(world, statement, asked) < 20


async def crowd(world: World, count: int) -> tuple[UUID, UUID]:
    """A subject and a group with three memories each, among many of others that are older and newer; all corrected."""
    mine, ours = new_id(), new_id()
    owners = [Owner(world.project, subject_id=new_id()) for _ in range(count)]
    for place in range(0, count, count // 3):
        owners[place : place + 2] = [Owner(world.project, subject_id=mine), Owner(world.project, group_id=ours)]
    ids = [new_id() for _ in owners]
    for importance in (0.1, 0.2):
        async with world.parts.database.write(world.organisation) as session:
            for id, owner in zip(ids, owners, strict=True):
                if importance == 0.1:
                    await memories.create(session, id, owner)
                facts = MemoryFacts(text="Tea.", tokens=2, importance=importance)
                await VERSIONS.change(session, id, Assert(ALWAYS, facts), **owner_columns(owner))
    return mine, ours


async def test_the_memories_of_one_are_found_past_those_of_all_others(parts: Any, owner: Any) -> None:
    """By both ways to read them, at both ends of system time."""
    world = await make_world(parts)
    mine, ours = await crowd(world, 600)
    await owner.execute("ANALYZE memories, memory_versions")
    async with world.parts.database.snapshot(world.organisation) as session:
        [first, second] = await session.rows(text("SELECT DISTINCT system_from FROM memory_versions ORDER BY 1"))
    later = datetime.now(UTC) + timedelta(days=1)
    for known_at in (first.system_from, second.system_from):
        asked = {"valid_at": later, "known_at": known_at}
        for kind, whose in (("subject", mine), ("group", ours)):
            listed = memories._OWNED[kind]
            paged = {**asked, "owner": whose, "after": memories.FIRST_ID, "limit": 100}
            async with world.parts.database.snapshot(world.organisation) as session:
                assert len(await session.rows(listed, {"organisation": world.organisation, **paged})) == 3
            assert await touched(world, listed, paged) < 40
        for owners, ids in ((Owners.SUBJECT, mine), (Owners.GROUPS, [ours])):
            leg = search_memory._leg(owners, False, False)
            limited = {**asked, "owner": ids, "limit": 100}
            async with world.parts.database.snapshot(world.organisation) as session:
                assert len(await session.rows(leg, {"organisation": world.organisation, **limited})) == 3
            assert await touched(world, leg, limited) < 60
