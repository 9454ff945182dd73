"""What is made again of an approximate search, and of a search by an operator at the command line."""

from dataclasses import replace

from app.domain.replay import Drift, ReplayVerdict
from app.evidence.replay import replay_for_operator
from app.retrieval.again import rerun
from tests.evidence.replaying import replayed, why
from tests.fixtures.store import World
from tests.retrieval.test_search_modes import approximate, beside

__all__ = ["approximate", "beside"]

QUESTION = "how do refunds follow book 3"


async def test_an_approximate_search_is_made_again_from_its_trace(approximate: World) -> None:
    answer = await approximate.ask(QUESTION)
    assert answer.search.vector_mode == "hnsw"
    await approximate.write("new.md", ("Refunds follow book 3, rule 3.", None, None))
    await approximate.settle()
    found = await replayed(approximate, answer)
    assert (found.verdict, found.reasons) == (ReplayVerdict.REPRODUCED, ())
    assert found.compared >= len(answer.passages)


async def test_an_approximate_search_without_a_trace_cannot_be_made_again(approximate: World) -> None:
    retriever = replace(approximate.parts.retriever, traces=False)
    bare = replace(approximate, parts=replace(approximate.parts, retriever=retriever))
    answer = await bare.ask(QUESTION)
    found = await replayed(bare, answer, QUESTION)
    assert found.verdict is ReplayVerdict.DRIFTED
    assert Drift.APPROXIMATE in why(found)


async def test_who_holds_the_database_sees_every_record(world: World) -> None:
    await world.write("tea.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    answer = await world.ask("tea")
    parts = world.parts
    found = await replay_for_operator(
        parts.database, parts.keys, rerun(parts.retriever), world.organisation, answer.attribution_id, None, False
    )
    assert found.verdict is ReplayVerdict.REPRODUCED
    assert [item.item for item in found.items] == [item.candidate.id for item in answer.passages]


async def test_diversity_that_a_latency_budget_left_out(world: World) -> None:
    """The trace tells that it was; without one it is said that this cannot be known."""
    await world.write("a.md", ("# Tea\n\nTea is kept in the red tin.", None, None))
    await world.write("b.md", ("# Tea\n\nTea is kept in the red tin today.", None, None))
    await world.write("c.md", ("# Pot\n\nA kept pot.", None, None))
    await world.settle()
    retriever = replace(world.parts.retriever, traces=False)
    bare = replace(world, parts=replace(world.parts, retriever=retriever))
    question = "tea is kept in the red tin"
    in_full = await bare.ask(question, mmr_lambda=0.0, latency_budget_ms=60_000, top_k=2)
    for asked in (world, bare):
        answer = await asked.ask(question, mmr_lambda=0.0, latency_budget_ms=1, top_k=2)
        assert [item.stage for item in answer.search.degraded_stages] == ["mmr"]
        assert [item.candidate.id for item in answer.passages] != [item.candidate.id for item in in_full.passages]
        found = await replayed(asked, answer, question)
        assert why(found) == (set() if asked is world else {Drift.APPROXIMATE})
    assert (await replayed(bare, in_full, question)).verdict is ReplayVerdict.REPRODUCED
