"""A retrieval comes out again as it was, bit for bit, whatever was written since."""

from dataclasses import replace

import pytest

from app.domain.replay import ReplayVerdict
from tests.evidence.random_history import RandomHistory
from tests.evidence.replaying import replayed
from tests.fixtures.store import World
from tests.memory.conftest import Memories


async def test_an_untouched_store_reproduces(world: World) -> None:
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    await world.write("coffee.md", ("# Coffee\n\nCoffee is kept in the blue tin.", None, None))
    await world.settle()
    answer = await world.ask("where is the tea kept")
    assert answer.passages
    found = await replayed(world, answer)
    assert found.reasons == ()
    assert found.verdict is ReplayVerdict.REPRODUCED
    assert found.traced
    assert found.compared == len(answer.passages) + sum(item.count or 0 for item in answer.exclusions)


@pytest.mark.parametrize("graph_assist", [False, True])
@pytest.mark.parametrize("seed", range(8))
async def test_later_writes_never_make_a_retrieval_drift(
    world: World, memory: Memories, seed: int, graph_assist: bool
) -> None:
    retriever = replace(world.parts.retriever, graph_assist=graph_assist)
    world = replace(world, parts=replace(world.parts, retriever=retriever))
    history = await RandomHistory.of(world, memory, seed)
    for _ in range(12):
        await history.write()
    compared = 0
    for _ in range(12):
        await history.ask()
        await history.write()
        await history.write()
    for answer in history.answers:
        found = await replayed(world, answer)
        assert found.reasons == ()
        assert found.verdict is ReplayVerdict.REPRODUCED
        compared += found.compared
    assert compared > len(history.answers)
