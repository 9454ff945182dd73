"""Where an item went, whoever may know it."""

from uuid import UUID

import pytest

from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission
from app.evidence.attribution import link_response
from app.evidence.impact import Use, impact
from app.retrieval.answer import Answer
from app.storage.delivered import BATCH
from tests.evidence.support import enqueue
from tests.fixtures.store import World
from tests.memory.conftest import Memories


async def used(world: World, **named: object) -> list[Use]:
    by = named.pop("by", world.principal)
    return await impact(world.parts.database, by, limit=100, **named)  # type: ignore[arg-type]


def ids(uses: list[Use]) -> list[UUID]:
    return [use.attribution.id for use in uses]


async def chain(world: World) -> None:
    await world.parts.sequencer.sweep()


async def library(world: World) -> tuple[Answer, Answer]:
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    await world.write("coffee.md", ("# Coffee\n\nCoffee is kept in the blue tin.", None, None))
    await world.settle()
    return await world.ask("where is the tea kept", top_k=1), await world.ask("where is the coffee kept", top_k=1)


@pytest.mark.parametrize("chained", [False, True])
async def test_by_chunk_document_and_hash(world: World, chained: bool) -> None:
    tea, coffee = await library(world)
    if chained:
        await chain(world)
    [passage] = tea.passages
    for named in (
        {"item_id": str(passage.candidate.id)},
        {"item_id": str(passage.candidate.document_id)},
        {"sha256": passage.content_sha256},
    ):
        found = await used(world, **named)
        assert ids(found) == [tea.attribution_id]
        assert found[0].items == (passage.candidate.id,)
        assert (found[0].attribution.sequence is not None) is chained
    assert coffee.attribution_id not in ids(await used(world, item_id=str(passage.candidate.id)))


async def test_a_document_is_found_by_what_any_version_of_it_gave(world: World) -> None:
    tea, _ = await library(world)
    document = tea.passages[0].candidate.document_id
    await world.write("tea.md", ("# Tea\n\nTea is kept in the green tin now.", None, None))
    again = await world.ask("where is the tea kept", top_k=1)
    assert again.passages[0].candidate.id != tea.passages[0].candidate.id
    await chain(world)
    later = await world.ask("where is the tea kept", top_k=1)
    # Newest first, whether chained or still queued.
    assert ids(await used(world, item_id=str(document))) == [
        later.attribution_id,
        again.attribution_id,
        tea.attribution_id,
    ]


async def test_a_memory_is_found_by_any_version_of_it_also_when_it_is_erased(world: World, memory: Memories) -> None:
    made = await memory.remember("ada likes tea", subjectId="ada")
    first = await world.ask("what does ada like", subject_id="ada")
    await memory.correct(made["id"], text="ada likes coffee")
    second = await world.ask("what does ada like", subject_id="ada")
    await chain(world)
    both = [second.attribution_id, first.attribution_id]
    assert ids(await used(world, item_id=made["id"])) == both
    assert ids(await used(world, item_id=made["versionId"])) == [first.attribution_id]
    await memory.forget("ada")
    assert ids(await used(world, item_id=made["id"])) == both


async def test_responses_are_told_with_their_retrieval(world: World) -> None:
    tea, _ = await library(world)
    for response in ("r1", "r2", "r1"):
        await link_response(world.parts.database, world.principal, str(tea.attribution_id), response)
    for step in (None, chain):
        if step:
            await step(world)
        [use] = await used(world, item_id=str(tea.passages[0].candidate.id))
        assert [link.response_id for link in use.links] == ["r1", "r2"]


async def test_records_of_others_are_left_out(world: World) -> None:
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    other = await world.add_space("other", Level.TEAM)
    ann = await world.add_person("ann", (world.project, Permission.SEARCH))
    bob = await world.add_person("bob", (world.project, Permission.SEARCH))
    warden = await world.add_person("warden", (world.project, Permission.ADMIN))
    elsewhere = await world.add_person("elsewhere", (other, Permission.ADMIN), (world.project, Permission.SEARCH))
    auditor = await world.add_person("auditor", (world.root, Permission.AUDIT_READ))
    answer = await world.ask("where is the tea kept", by=ann)
    item = str(answer.passages[0].candidate.id)
    for step in (None, chain):
        if step:
            await step(world)
        for viewer, sees in ((ann, True), (bob, False), (warden, True), (elsewhere, False), (auditor, True)):
            assert bool(await used(world, item_id=item, by=viewer)) is sees


async def test_pages_follow_each_other(world: World) -> None:
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    answers = [await world.ask("where is the tea kept") for _ in range(7)]
    await chain(world)
    item, found, after = str(answers[0].passages[0].candidate.id), [], None
    while page := await impact(world.parts.database, world.principal, item_id=item, after=after, limit=3):
        found += ids(page)
        after = found[-1]
    assert found == [answer.attribution_id for answer in reversed(answers)]


async def test_what_is_unknown_went_nowhere(world: World) -> None:
    assert await used(world, item_id=str(world.project)) == []
    assert await used(world, item_id="nonsense") == []
    assert await used(world, sha256="0" * 64) == []


@pytest.mark.parametrize(
    "named",
    [{}, {"item_id": "x", "sha256": "0" * 64}, {"sha256": "zz"}, {"sha256": "0" * 63}, {"sha256": " " + "0" * 63}],
)
async def test_one_of_both_is_asked_for(world: World, named: dict[str, str]) -> None:
    with pytest.raises(MunimentError) as refused:
        await used(world, **named)
    assert refused.value.code is Code.BAD_USER_INPUT


async def test_records_of_another_shape_stop_nothing(world: World) -> None:
    """What a hand put into the queue is chained, and the index goes on behind it."""
    await enqueue(world.parts.database, world.organisation, 3)
    answer = (await library(world))[0]
    while await world.parts.sequencer.turn(world.organisation):
        pass
    await chain(world)
    assert ids(await used(world, sha256=answer.passages[0].content_sha256)) == [answer.attribution_id]
    assert BATCH > 3
