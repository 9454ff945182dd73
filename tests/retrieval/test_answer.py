"""The answer: caps, budget, contract, exclusions, limitations, freshness."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import nan

import pytest
from sqlalchemy import text

from app.domain.budget import BudgetStrategy
from app.domain.contract import LimitationCode, age_hours
from app.domain.errors import Code, MunimentError
from app.domain.principal import Level
from app.domain.selection import Reason
from app.evidence.attribution import find
from app.storage import sources
from schema.types.passage import Passage

C, R = LimitationCode, Reason


def codes(answer):
    return {item.code for item in answer.limitations}


def limitation(answer, code):
    return next(item for item in answer.limitations if item.code is code)


def counts(answer):
    return {item.type: item.count for item in answer.exclusions}


def texts(answer):
    return [item.passage.text for item in answer.passages]


@pytest.fixture
async def shelf(world):
    """A document of six sections in the project, four of one section there, three in the organisation's space."""
    root = await world.add_source("of-root", world.root)
    sections = "\n\n".join(f"# Refund rule {n}\n\nRefunds follow rule {n} of the handbook." for n in range(6))
    await world.write("handbook.md", (sections, None, None))
    for number in range(4):
        await world.write(f"memo-{number}.md", (f"Refunds were discussed in memo {number}.", None, None))
    for number in range(3):
        await world.write(f"notice-{number}.md", (f"Notice {number} about refunds.", None, None), source=root)
    await world.settle()
    return world


WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


async def test_the_caps_hold_and_say_what_they_held_back(shelf):
    everything = await shelf.ask("refunds", **WIDE)
    assert (len(everything.passages), everything.search.candidates, counts(everything)) == (13, 13, {})
    capped = await shelf.ask("refunds")
    documents = [item.passage.external_id for item in capped.passages]
    assert documents.count("handbook.md") <= 2
    assert len([name for name in documents if "notice" not in name]) == 5
    assert len(documents) == 8
    assert counts(capped)[R.PER_DOCUMENT_CAP] + counts(capped)[R.PER_LEVEL_CAP] == 5
    few = await shelf.ask("refunds", **{**WIDE, "top_k": 3})
    assert [item.candidate.id for item in few.passages] == [item.candidate.id for item in everything.passages[:3]]
    assert counts(few) == {R.TOP_K: 10}
    assert [item.index for item in few.passages] == [1, 2, 3]


async def test_no_passages_are_asked_for_and_none_come_but_evidence_does(shelf):
    answer = await shelf.ask("refunds", **{**WIDE, "top_k": 0})
    assert answer.passages == ()
    assert counts(answer) == {R.TOP_K: 13}
    assert C.NO_CONTEXT in codes(answer)
    record = (await find(shelf.parts.database, shelf.principal, str(answer.attribution_id))).record
    assert record["requestId"] == str(answer.request_id)
    assert record["chunks"] == []


async def test_clamped_parameters_are_told(shelf):
    answer = await shelf.ask(
        "refunds", top_k=10**6, max_per_level=10**6, max_passages_per_document=51, token_budget=10**9
    )
    told = answer.contract.parameters
    assert (told.top_k, told.max_per_level, told.max_passages_per_document, told.token_budget) == (50, 50, 50, 32_000)
    assert len(answer.passages) == 13


async def test_a_minimum_score_excludes_what_lies_below_it(shelf):
    everything = await shelf.ask("refunds", **WIDE)
    scores = sorted({item.candidate.score for item in everything.passages})
    floor = scores[len(scores) // 2]
    answer = await shelf.ask("refunds", **WIDE, min_score=floor)
    assert {item.candidate.id for item in answer.passages} == {
        item.candidate.id for item in everything.passages if item.candidate.score >= floor
    }
    assert counts(answer) == {R.MIN_SCORE: 13 - len(answer.passages)}
    nothing = await shelf.ask("refunds", **WIDE, min_score=11.0)
    assert nothing.passages == ()
    assert counts(nothing) == {R.MIN_SCORE: 13}
    with pytest.raises(MunimentError) as caught:
        await shelf.ask("refunds", min_score=nan)
    assert caught.value.code is Code.BAD_USER_INPUT


async def test_no_score_drops_a_passage_unless_a_minimum_is_asked_for(world):
    await world.write("a.md", ("Nothing in here is about that.", None, None))
    await world.settle()
    answer = await world.ask("xylophone quux")
    assert len(answer.passages) == 1


@pytest.mark.parametrize("strategy", BudgetStrategy)
async def test_the_budget_is_kept_counted_and_explained(shelf, strategy):
    everything = await shelf.ask("refunds", **WIDE)
    assert everything.tokens_total == sum(item.passage.tokens for item in everything.passages)
    assert everything.dropped_count == 0
    for size in range(0, everything.tokens_total + 1, 23):
        options = {**WIDE, "token_budget": size, "budget_strategy": strategy}
        answer = await shelf.ask("refunds", **options)
        assert answer.tokens_total == sum(shelf.parts.preparer.tokens.count(text) for text in texts(answer))
        assert answer.dropped_count == counts(answer).get(R.TOKEN_BUDGET, 0) == 13 - len(answer.passages)
        assert answer.tokens_total <= size or (strategy is BudgetStrategy.KEEP_FIRST and len(answer.passages) == 1)
        order = [item.candidate.id for item in everything.passages]
        kept = [item.candidate.id for item in answer.passages]
        assert kept == [id for id in order if id in kept]
        if answer.dropped_count:
            needed = limitation(answer, C.BUDGET_TOO_SMALL).count
            more = await shelf.ask("refunds", **{**options, "token_budget": needed})
            less = await shelf.ask("refunds", **{**options, "token_budget": needed - 1})
            assert len(more.passages) == len(answer.passages) + 1
            assert len(less.passages) <= len(answer.passages)
        else:
            assert C.BUDGET_TOO_SMALL not in codes(answer)


async def test_hits_greater_than_the_budget_are_not_nothing_known(world):
    await world.write("a.md", ("Refunds are authorised. " * 20, None, None))
    await world.settle()
    answer = await world.ask("refunds", token_budget=80)
    assert answer.passages == ()
    assert (answer.search.candidates, answer.dropped_count) == (1, 1)
    needed = limitation(answer, C.BUDGET_TOO_SMALL)
    assert str(needed.count) in needed.message
    assert (await world.ask("refunds", token_budget=needed.count)).tokens_total == needed.count
    assert (await world.ask("refunds", token_budget=needed.count - 1)).passages == ()
    assert len((await world.ask("refunds", token_budget=80, budget_strategy=BudgetStrategy.KEEP_FIRST)).passages) == 1


async def test_filters_that_are_not_given_are_not_empty_ones(world):
    issues = await world.add_source("tracker", kind="issues")
    await world.write("doc.md", ("Refunds in a document.", None, None))
    await world.write("issue.md", ("Refunds in an issue.", None, None), source=issues)
    await world.settle()
    assert len((await world.ask("refunds", source_kinds=None, providers=None)).passages) == 2
    for empty in ({"source_kinds": []}, {"providers": []}, {"source_kinds": [], "providers": []}):
        answer = await world.ask("refunds", **empty)
        assert (answer.passages, answer.search.candidates) == ((), 0)
        assert {(item.type, item.source_kind, item.count) for item in answer.exclusions} == {
            (R.CALLER_FILTER, "docs", 1),
            (R.CALLER_FILTER, "issues", 1),
        }
        assert C.NO_CONTEXT in codes(answer)
        record = (await find(world.parts.database, world.principal, str(answer.attribution_id))).record
        assert record["chunks"] == []
    some = await world.ask("refunds", source_kinds=["issues"])
    assert texts(some) == ["Refunds in an issue."]
    assert [(item.type, item.source_kind, item.stage) for item in some.exclusions] == [
        (R.CALLER_FILTER, "docs", "authorise")
    ]
    assert (await world.ask("refunds", providers=["notion"])).passages == ()
    assert len((await world.ask("refunds", providers=["filesystem", "notion"])).passages) == 2
    assert (await world.ask("refunds", source_kinds=["issues"], providers=["notion"])).passages == ()


async def test_nothing_to_search_is_told_as_such(world):
    answer = await world.ask("refunds")
    assert (answer.passages, answer.search.candidates, answer.tokens_total) == ((), 0, 0)
    assert codes(answer) == {C.SCOPE_APPLIED, C.NO_CONTEXT}
    silent = [(item.type, item.provider, item.count) for item in answer.exclusions]
    assert silent == [(R.NO_RESULTS, "filesystem", None)]
    # Nothing was searched, so the search was not one of text alone.
    filtered = await world.ask("refunds", source_kinds=[])
    assert C.TEXT_ONLY not in codes(filtered)


@pytest.mark.parametrize("query", [None, "", "  \n\t"])
async def test_without_a_question_no_passage_is_searched_for(shelf, query):
    answer = await shelf.ask(query)
    assert (answer.passages, answer.search.candidates) == ((), 0)
    assert answer.search.stage_timings.keys().isdisjoint({"embed", "text", "vector"})
    assert counts(answer) == {}
    record = (await find(shelf.parts.database, shelf.principal, str(answer.attribution_id))).record
    assert record["querySha256"] is None


async def test_a_stage_that_did_not_run_has_no_timing(shelf):
    assert {"embed", "text", "vector", "redact", "record", "total"} <= (
        await shelf.ask("refunds")
    ).search.stage_timings.keys()
    text_only = replace(shelf.parts.retriever, embedder=None)
    answer = await replace(shelf, parts=replace(shelf.parts, retriever=text_only)).ask("refunds")
    assert answer.search.stage_timings.keys().isdisjoint({"embed", "vector"})


async def test_the_contract_names_its_terms(shelf):
    answer = await shelf.ask("refunds", session_id="s-1")
    contract = answer.contract
    assert (contract.version, contract.operation, contract.actor_type) == ("1.0", "retrieve", "person")
    assert contract.indexes == ("text:bm25", "vector:exact:hash-128")
    assert answer.search.vector_mode == "exact"
    assert contract.valid_at.tzinfo is UTC
    assert contract.valid_at >= contract.known_at
    assert contract.issued_at == contract.valid_at
    again = await shelf.ask("refunds", session_id="s-1")
    assert len({answer.request_id, answer.attribution_id, again.request_id, again.attribution_id}) == 4


async def test_each_source_is_summed_up(shelf):
    answer = await shelf.ask("refunds", **WIDE)
    summary = {item.source.name: (item.passages, item.tokens) for item in answer.sources}
    for name in ("notes", "of-root"):
        mine = [item.passage.tokens for item in answer.passages if item.source.name == name]
        assert summary[name] == (len(mine), sum(mine))
    assert {item.space.level for item in answer.passages} == {Level.PROJECT, Level.ORGANISATION}


async def test_a_reading_of_an_earlier_moment_of_either_clock_is_told(shelf):
    now = await shelf.ask("refunds")
    assert C.HISTORICAL_READ not in codes(now)
    clock, moment = now.contract.known_at, timedelta(microseconds=1)
    assert C.HISTORICAL_READ in codes(await shelf.ask("refunds", known_at=clock - moment, space_id=None))
    assert C.HISTORICAL_READ in codes(await shelf.ask("refunds", as_of=now.contract.valid_at))
    for same in ({"known_at": clock}, {"as_of": now.contract.valid_at + timedelta(days=1)}):
        assert C.HISTORICAL_READ not in codes(await shelf.ask("refunds", **same))


async def test_freshness_counts_from_the_last_synchronisation(world):
    await world.write("a.md", ("Refunds are authorised.", None, None))
    unsynced = await world.ask("refunds")
    assert C.MISSING_SYNC_TIMESTAMP in codes(unsynced)
    shown = Passage.of(unsynced.passages[0], unsynced).freshness
    assert (shown.synced_at, shown.age_hours) == (None, None)
    async with world.parts.database.write(world.organisation) as session:
        await sources.record_sync(session, world.source.id, None)
        stamp = session.stamp
    answer = await world.ask("refunds", as_of=stamp + timedelta(hours=30, minutes=10))
    assert C.MISSING_SYNC_TIMESTAMP not in codes(answer)
    shown = Passage.of(answer.passages[0], answer).freshness
    assert (shown.synced_at, shown.age_hours) == (stamp, 30.2)
    assert shown.age_hours == age_hours(stamp, answer.contract.valid_at)
    assert shown.ingested_at == answer.passages[0].passage.version_system_from
    earlier = await world.ask("refunds", as_of=datetime(2001, 1, 1, tzinfo=UTC))
    assert Passage.of(earlier.passages[0], earlier).freshness.age_hours == 0.0
    before = await world.ask("refunds", known_at=stamp - timedelta(microseconds=1))
    assert before.passages[0].source.synced_at is None


async def test_a_source_without_an_access_policy_is_told(world):
    await world.write("a.md", ("Refunds are authorised.", None, None))
    assert C.MISSING_SOURCE_ACCESS_POLICY not in codes(await world.ask("refunds"))
    async with world.parts.database.write(world.organisation) as session:
        await session.run(
            text("UPDATE sources SET access_policy = NULL WHERE id = :source"), {"source": world.source.id}
        )
    assert C.MISSING_SOURCE_ACCESS_POLICY in codes(await world.ask("refunds"))
