"""What of a record its space's administrator sees: what they may see elsewhere today, and no hint of the rest."""

import json

import pytest

from app.domain.principal import Permission
from app.evidence.attribution import find, find_all
from app.evidence.impact import impact
from app.evidence.reports import page
from app.evidence.staleness import moved_of, stale
from app.retrieval.lenses import LensParts, create_lens
from tests.evidence.replaying import replayed
from tests.evidence.test_staleness import LONG_AGO
from tests.fixtures.store import World
from tests.memory.conftest import Memories

QUESTION = "where is the tea kept"


@pytest.fixture
async def told(world: World, memory: Memories):
    """Asked in the project: a passage from there, one from above it, a memory of each of both spaces."""
    above = await world.add_source("above", world.root)
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    await world.write("pot.md", ("# Pot\n\nThe tea pot is kept where the cups are.", None, None), source=above)
    await world.settle()
    here = await memory.remember("tea is served here at four")
    there = await memory.remember("tea is kept for all on friday", spaceKey="/")
    lens = await create_lens(world.parts.database, world.principal, LensParts(name="all"), space_id=str(world.root))
    answer = await world.ask(QUESTION, lens_id=str(lens.id))
    assert {item.source.name for item in answer.passages} == {"notes", "above"}
    assert len(answer.group_memories) + len(answer.memories) == 2
    hidden = {
        str(above.id),
        *(str(item.candidate.id) for item in answer.passages if item.source.name == "above"),
        *(str(item.candidate.document_id) for item in answer.passages if item.source.name == "above"),
        *(item.content_sha256 for item in answer.passages if item.source.name == "above"),
        there["id"],
        str(lens.id),
    }
    open_ = {
        str(world.source.id),
        here["id"],
        *(str(i.candidate.id) for i in answer.passages if i.source.name == "notes"),
    }
    await world.parts.sequencer.turn(world.organisation)
    return answer, hidden, open_, above


def names(things, ids: set[str]) -> set[str]:
    shown = json.dumps(things, default=str)
    return {id for id in ids if id in shown}


async def everything_of(world, viewer, answer, above):
    """All that a viewer is told of one record, whichever way."""
    database, id = world.parts.database, str(answer.attribution_id)
    found = await find(database, viewer, id)
    by_request = await find_all(database, viewer, str(answer.contract.request_id))
    listed = [item for item in await page(database, viewer, limit=50) if item.id == answer.attribution_id]
    replays = [await replayed(world, answer, by=viewer, now=now) for now in (False, True)]
    await world.write("pot.md", ("# Pot\n\nThe tea pot is kept upstairs.", None, None), source=above)
    moved = await moved_of(database, viewer, id)
    staled = await stale(database, viewer, LONG_AGO, limit=50)
    return [
        found.record,
        [item.record for item in by_request],
        [item.record for item in listed],
        [(item.items, [reason.items for reason in item.reasons], item.compared) for item in replays],
        (moved.attribution.record, moved.moved),
        [(item.attribution.record, item.moved) for item in staled],
    ], replays


async def test_an_administrator_of_the_space(world: World, told) -> None:
    answer, hidden, open_, above = told
    warden = await world.add_person("warden", (world.project, Permission.ADMIN))
    seen, replays = await everything_of(world, warden, answer, above)
    assert names(seen, hidden) == set()
    assert names(seen, open_) == open_
    # No number tells how much there is beyond.
    record = seen[0]
    assert len(record["chunks"]) == len(record["memories"]) == len(record["sourceIds"]) == 1
    assert (record["lensId"], record["lensSystemFrom"]) == (None, None)
    assert replays[0].compared == 2
    for id in hidden:
        found = await impact(world.parts.database, warden, **asked(id), limit=10)
        assert found == [], id


def asked(id: str) -> dict[str, str]:
    return {"sha256": id} if len(id) == 64 else {"item_id": id}


async def test_who_retrieved_and_auditors_see_it_whole(world: World, told) -> None:
    answer, hidden, open_, above = told
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    of_space = await world.add_person("of-space", (world.project, Permission.AUDIT_READ))
    for viewer in (world.principal, auditor, of_space):
        seen = await find(world.parts.database, viewer, str(answer.attribution_id))
        assert names(seen.record, hidden | open_) == hidden | open_
        [use] = await impact(
            world.parts.database, viewer, item_id=next(iter(sorted(hidden & _items(answer)))), limit=10
        )
        assert names(use.attribution.record, hidden) == hidden
    seen, _ = await everything_of(world, auditor, answer, above)
    assert names(seen, hidden) == hidden


def _items(answer) -> set[str]:
    return {str(item.candidate.id) for item in answer.passages}


async def test_what_an_administrator_may_see_elsewhere_is_theirs_to_see(world: World, told) -> None:
    """Any permission will do, today's; a source that is gone is seen by nobody but auditors and who retrieved."""
    answer, hidden, open_, _ = told
    both = await world.add_person("both", (world.project, Permission.ADMIN), (world.root, Permission.WRITE))
    seen = await find(world.parts.database, both, str(answer.attribution_id))
    assert names(seen.record, hidden | open_) == hidden | open_
