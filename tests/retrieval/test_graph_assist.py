"""R4: what the best hits link to or call joins the candidates, where graph assist is on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.principal import Level, Permission
from app.domain.selection import Relation
from app.retrieval.assist import MOST
from app.retrieval.cache import SearchCache
from tests.fixtures.store import World, make_world
from tests.retrieval.test_related import DESK, TILL, WIDE, code_source

BORN = datetime(2026, 1, 1, tzinfo=UTC)
GUIDE = "# Refunds\n\nRefunds follow [the table](tables/limits.md#top), unless the desk is closed."
LIMITS = "Tier two: forty. Tier three: ninety."
QUESTION = "refunds follow what"


def assisted(world: World, **options) -> World:
    """The same store, asked with graph assist."""
    retriever = replace(world.parts.retriever, graph_assist=True, cache=SearchCache(0), **options)
    return replace(world, parts=replace(world.parts, retriever=retriever))


async def many(world, count=60):
    """Pages that speak of refunds, so that the legs are full without the linked page."""
    sections = "\n\n".join(f"# Rule {n}\n\nRefunds follow rule {n} of refunds." for n in range(count))
    await world.write("rules.md", (sections, None, None))


@pytest.fixture
async def pages(world: World) -> World:
    """Text alone: the linked page shares no word with the question."""
    await world.write("guide.md", (GUIDE, None, None))
    await world.write("tables/limits.md", (LIMITS, None, None))
    await world.settle()
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))


def names(answer):
    return [item.passage.external_id for item in answer.passages]


async def test_off_it_does_nothing(pages):
    answer = await pages.ask(QUESTION)
    assert names(answer) == ["guide.md"]
    assert "graph" not in answer.search.stage_timings


async def test_what_is_linked_to_joins(pages):
    answer = await assisted(pages).ask(QUESTION)
    assert names(answer) == ["guide.md", "tables/limits.md"]
    assert answer.search.stage_timings["graph"] > 0
    assert answer.search.candidates == 2
    assert answer.passages[1].candidate.score == 0.0


async def test_it_joins_with_both_of_its_true_signals(world, parts):
    """The legs are full without it; its signals are those that it has for whoever names it."""
    await many(world, 250)
    await world.write("guide.md", (GUIDE, None, None))
    await world.write("tables/limits.md", (LIMITS, None, None))
    await world.settle()
    question, options = "refunds follow the table unless the desk is closed", {**WIDE, "max_passages_per_document": 3}
    assert "tables/limits.md" not in names(await world.ask(question, **options))
    answer = await assisted(world).ask(question, **options)
    (joined,) = [item for item in answer.passages if item.passage.external_id == "tables/limits.md"]
    elsewhere = await make_world(parts)
    await elsewhere.write("tables/limits.md", (LIMITS, None, None))
    await elsewhere.settle()
    (other,) = (await elsewhere.ask(question)).passages
    assert joined.candidate.scores.cosine == other.candidate.scores.cosine is not None
    assert joined.candidate.related is None
    assert 0 < joined.candidate.score < answer.passages[0].candidate.score


async def test_what_is_called_joins(world):
    source = await code_source(world)
    await world.write("shop/till.py", (TILL, None, None), source=source)
    await world.write("shop/desk.py", (DESK, None, None), source=source)
    await world.settle()
    alone = replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))
    plain = await alone.ask("how many", exclude_related=True)
    found = await assisted(alone).ask("how many", exclude_related=True)
    before, after = ({tuple(item.passage.heading_path) for item in answer.passages} for answer in (plain, found))
    assert before == {("count_coins",)}
    assert after == {("count_coins",), ("weigh",), ("close_desk",)}


async def test_what_joined_may_be_related_too_and_is_delivered_once(world):
    source = await code_source(world)
    await world.write("shop/till.py", (TILL, None, None), source=source)
    await world.write("shop/desk.py", (DESK, None, None), source=source)
    await world.settle()
    answer = await assisted(world).ask("how many coins the till holds", top_k=1)
    ids = [item.candidate.id for item in answer.passages]
    assert len(ids) == len(set(ids)) == 3
    assert {item.candidate.related.relation for item in answer.passages[1:]} == {Relation.CALLS, Relation.CALLED_BY}
    counted = sum(item.count for item in answer.exclusions if item.stage not in {"authorise", "gather"})
    assert counted + len(answer.passages) == answer.search.candidates


async def test_only_so_many_join(pages):
    links = " ".join(f"[{n}](page{n}.md)" for n in range(50))
    await pages.write("guide.md", (f"Refunds follow. {links}", None, None))
    for n in range(50):
        await pages.write(f"page{n}.md", (f"Page {n}.", None, None))
    answer = await assisted(pages).ask(QUESTION, top_k=50, max_per_level=50)
    assert answer.search.candidates == 1 + MOST


async def test_links_are_followed_as_of_both_clocks(pages):
    end = BORN + timedelta(days=5)
    await pages.write("tables/limits.md", (LIMITS, BORN, end), ("Nothing any more.", end, None))
    await pages.settle()
    known = (await pages.ask(QUESTION)).contract.known_at
    await pages.write("tables/limits.md")
    with_graph = assisted(pages)
    assert names(await with_graph.ask(QUESTION)) == ["guide.md"]
    then = await with_graph.ask(QUESTION, as_of=BORN, known_at=known)
    assert [item.passage.text for item in then.passages][1:] == [LIMITS]
    later = await with_graph.ask(QUESTION, as_of=end, known_at=known)
    assert [item.passage.text for item in later.passages][1:] == ["Nothing any more."]


async def test_nothing_joins_from_elsewhere(world, parts):
    """The linked page is in a source that the caller may not see, in another one, and in another organisation."""
    other = await make_world(parts)
    await other.write("tables/limits.md", (LIMITS, None, None))
    hidden = await world.add_source("hidden", await world.add_space("hidden", Level.TEAM))
    beside = await world.add_source("beside")
    await world.write("guide.md", (GUIDE, None, None))
    for source in (hidden, beside):
        await world.write("tables/limits.md", (LIMITS, None, None), source=source)
    await world.settle()
    person = await world.add_person("reader", (world.project, Permission.SEARCH))
    alone = replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))
    assert names(await assisted(alone).ask(QUESTION, by=person)) == ["guide.md"]


async def test_without_time_it_is_not_entered_and_named(pages):
    answer = await assisted(pages).ask(QUESTION, latency_budget_ms=0)
    assert names(answer) == ["guide.md"]
    assert [(item.stage, item.reason) for item in answer.search.degraded_stages] == [("graph", "budget_exhausted")]
    assert "graph" not in answer.search.stage_timings


async def test_an_answer_without_it_is_not_remembered(pages):
    world = assisted(pages)
    world = replace(
        world,
        parts=replace(world.parts, retriever=replace(world.parts.retriever, cache=SearchCache(60))),
    )
    assert names(await world.ask(QUESTION, latency_budget_ms=0)) == ["guide.md"]
    for _ in range(2):
        answer = await world.ask(QUESTION)
        assert names(answer) == ["guide.md", "tables/limits.md"]
    assert answer.search.cache_hit


async def test_tags_hold_for_what_joins(pages):
    assert names(await assisted(pages).ask(QUESTION, tags=["none"])) == []
