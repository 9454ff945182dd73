"""R4: a reranker orders anew what it may see, with no connection held, and the answer never depends on its behaving."""

import asyncio
import hashlib
import json

import pytest
from sqlalchemy import text

from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from app.domain.principal import Level, Permission
from app.domain.selection import Reason
from app.retrieval.cache import SearchCache
from tests.fixtures.endpoint import answers, breaks_off, cuts, dribbles, floods, hangs, local_endpoint, scores
from tests.retrieval.optional import with_stages, without_stages
from tests.retrieval.test_statements import statements

#: One document a level of likeness to the question: the formula ranks them as they stand here.
SHELF = {
    "first.md": "refunds refunds tier",
    "second.md": "refunds tier and more",
    "third.md": "refunds among a good many other words",
    "fourth.md": "refunds somewhere in a text that speaks at length of quite another thing altogether",
}
WORST_FIRST = {name: float(number) for number, name in enumerate(SHELF)}
WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


@pytest.fixture
async def shelf(world):
    for name, said in SHELF.items():
        await world.write(name, (said, None, None))
    await world.settle()
    return world


def by_text(wanted):
    """Scores by which document a text is of."""
    return lambda sent: next(score for name, score in wanted.items() if SHELF[name] in sent)


def names(answer):
    return [item.passage.external_id for item in answer.passages]


def codes(answer):
    return {item.code: item.count for item in answer.limitations}


def account(answer):
    return answer.passages, answer.memories, answer.exclusions, answer.tokens_total, answer.search.candidates


async def test_its_order_is_the_order_and_the_scores_stay(shelf, endpoint):
    plain = await without_stages(shelf).ask("refunds tier", **WIDE)
    assert names(plain) == list(SHELF)
    endpoint.does(scores(by_text(WORST_FIRST)))
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
        again = await reranked.ask("refunds tier", **WIDE)
    assert names(answer) == list(reversed(SHELF))
    assert [item.candidate.scores.rerank for item in answer.passages] == [3.0, 2.0, 1.0, 0.0]
    assert [item.index for item in answer.passages] == [1, 2, 3, 4]
    score = {item.candidate.id: item.candidate.score for item in plain.passages}
    assert {item.candidate.id: item.candidate.score for item in answer.passages} == score
    assert answer.search.degraded_stages == ()
    assert LimitationCode.DEGRADED not in codes(answer)
    assert LimitationCode.HISTORICAL_READ not in codes(answer)
    assert "rerank" in answer.search.stage_timings
    assert "rerank" not in plain.search.stage_timings
    assert account(again) == account(answer)


async def test_what_is_sent_is_the_question_and_the_texts_in_order_of_rank(shelf, endpoint):
    endpoint.does(scores(len))
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        await reranked.ask("refunds tier", session_id="session", space_key="project")
    (call,) = endpoint.calls
    documents = [f"{name}\n{said}" for name, said in SHELF.items()]
    expected = {"model": "cross", "query": "refunds tier", "documents": documents, "top_n": 4}
    assert call.body == json.dumps(expected, separators=(",", ":")).encode()


@pytest.mark.parametrize("locality", ["in_deployment", "external"])
async def test_a_class_that_stays_is_never_sent_and_keeps_its_place(world, endpoint, locality):
    classes = ["internal", "confidential", "public", "restricted", "regulated", "internal"]
    for number, name in enumerate(classes):
        source = await world.add_source(f"source {number}", classification=name)
        await world.write(f"{number}.md", (f"refunds {name}secret{number}", None, None), source=source)
    await world.settle()
    plain = names(await without_stages(world).ask("refunds", **WIDE))
    assert len(plain) == 6
    endpoint.does(scores(lambda sent: float(next(n for n in range(6) if f"secret{n}" in sent))))
    async with with_stages(world, rerank=endpoint.url, locality=locality) as reranked:
        answer = await reranked.ask("refunds", **WIDE)
    (call,) = endpoint.calls
    assert len(call.json["documents"]) == 3
    for barred in (b"confidential", b"restricted", b"regulated"):
        assert barred not in call.body
    best_first = iter(["5.md", "2.md", "0.md"])
    assert names(answer) == [next(best_first) if name in {"0.md", "2.md", "5.md"} else name for name in plain]
    told = {item.passage.external_id: item.candidate.scores.rerank for item in answer.passages}
    assert told == {"0.md": 0.0, "1.md": None, "2.md": 2.0, "3.md": None, "4.md": None, "5.md": 5.0}


async def test_nothing_is_sent_when_nothing_may_be(world, endpoint):
    source = await world.add_source("closed", classification="restricted")
    await world.write("a.md", ("refunds", None, None), source=source)
    await world.settle()
    endpoint.does(scores(len))
    async with with_stages(world, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds")
        assert names(answer) == ["a.md"]
        for query, options in [(None, {}), ("  ", {}), ("refunds", {"top_k": 0}), ("refunds", {"source_kinds": []})]:
            answer = await reranked.ask(query, **options)
            assert answer.search.degraded_stages == ()
    assert endpoint.connections == 0
    assert "rerank" not in answer.search.stage_timings


async def test_only_the_best_are_shown(shelf, endpoint):
    endpoint.does(scores(by_text(WORST_FIRST)))
    async with with_stages(shelf, rerank=endpoint.url, candidates=2) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
    assert len(endpoint.calls[0].json["documents"]) == 2
    assert names(answer) == ["second.md", "first.md", "third.md", "fourth.md"]


async def test_no_connection_is_held_while_it_works(shelf, endpoint):
    pool = shelf.parts.database._engine.pool
    before, held = pool.checkedout(), []
    well = scores(len)

    async def behave(call, writer):
        held.append(pool.checkedout())
        await well(call, writer)

    endpoint.does(behave)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        await reranked.ask("refunds tier")
    assert held == [before]


async def test_more_questions_than_connections_wait_for_it_at_once(shelf, endpoint):
    """Each would starve the pool if it kept its connection until the reranker answers, which it does once all wait."""
    many = shelf.parts.settings.pool_size * 2
    arrived, all_here = 0, asyncio.Event()
    well = scores(by_text(WORST_FIRST))

    async def behave(call, writer):
        nonlocal arrived
        arrived += 1
        if arrived == many:
            all_here.set()
        await all_here.wait()
        await well(call, writer)

    endpoint.does(behave)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        found = await asyncio.gather(*(reranked.ask("refunds tier") for _ in range(many)))
    assert {tuple(names(answer)) for answer in found} == {tuple(reversed(SHELF))}


async def test_what_is_written_meanwhile_is_no_part_of_the_answer(shelf, endpoint):
    well = scores(by_text(WORST_FIRST))

    async def behave(call, writer):
        await shelf.write("first.md", ("refunds are no more", None, None))
        await shelf.write("fifth.md", ("refunds refunds tier tier", None, None))
        await shelf.write("second.md")
        await shelf.settle()
        await well(call, writer)

    endpoint.does(behave, well)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
        clocks = {"as_of": answer.contract.valid_at, "known_at": answer.contract.known_at}
        again = await reranked.ask("refunds tier", **WIDE, **clocks)
        now = await without_stages(shelf).ask("refunds tier", **WIDE)
    assert names(answer) == list(reversed(SHELF))
    assert [item.passage.text for item in answer.passages] == list(reversed(SHELF.values()))
    # It was asked about the present, even if that is past by now.
    assert LimitationCode.HISTORICAL_READ not in codes(answer)
    assert LimitationCode.HISTORICAL_READ in codes(again)
    assert account(again) == account(answer)
    assert now.contract.known_at > answer.contract.known_at
    assert {"fifth.md", "first.md"} <= set(names(now))


async def close_while(world, endpoint, behaviour, statement, **parameters):
    async def behave(call, writer):
        async with world.parts.database.write(world.organisation) as session:
            await session.run(text(statement), {"stamp": session.stamp, **parameters})
        await behaviour(call, writer)

    endpoint.does(behave)


async def test_what_is_taken_back_meanwhile_is_gone(shelf, endpoint):
    part = await shelf.add_space("project/part", Level.SUBPROJECT, "project")
    await shelf.write("inner.md", ("refunds tier inside", None, None), source=await shelf.add_source("inner", part))
    await shelf.settle()
    person = await shelf.add_person("guest", (part, Permission.SEARCH))
    closed = "UPDATE grants SET system_to = :stamp WHERE principal_id = :person AND system_to IS NULL"
    await close_while(shelf, endpoint, scores(len), closed, person=person.id)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        with pytest.raises(MunimentError) as refused:
            await reranked.ask("refunds tier", by=person, space_id=str(part))
    assert refused.value.code is Code.SPACE_NOT_FOUND
    assert len(endpoint.calls) == 1
    assert b"refunds tier inside" in endpoint.calls[0].body


async def test_a_source_that_is_deleted_meanwhile_is_not_delivered(shelf, endpoint):
    gone = await shelf.add_source("gone")
    await shelf.write("gone.md", ("refunds tier gone", None, None), source=gone)
    await shelf.settle()
    deleted = "UPDATE sources SET system_to = :stamp WHERE id = :source AND system_to IS NULL"
    await close_while(shelf, endpoint, scores(len), deleted, source=gone.id)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
    assert b"refunds tier gone" in endpoint.calls[0].body
    assert sorted(names(answer)) == sorted(SHELF)
    assert answer.search.candidates == 4


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answers({}, status=429, Retry_After="7200"), "rate_limited"),
        (answers({}, status=403), "http_4xx"),
        (answers({}, status=500), "http_5xx"),
        (answers(b"not json"), "bad_response"),
        (answers({"results": []}), "bad_response"),
        (answers({"results": [{"index": 9, "relevance_score": 1.0}] * 4}), "bad_response"),
        (floods, "bad_response"),
        (cuts, "error"),
        (breaks_off, "error"),
    ],
)
async def test_when_it_fails_the_answer_does_without_it(shelf, endpoint, behaviour, reason):
    plain = await without_stages(shelf).ask("refunds tier", **WIDE)
    endpoint.does(behaviour)
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
    assert account(answer) == account(plain)
    (stage,) = answer.search.degraded_stages
    assert (stage.stage, stage.reason, stage.remaining_budget_ms) == ("rerank", reason, None)
    assert stage.elapsed_ms > 0
    assert codes(answer)[LimitationCode.DEGRADED] == 1
    assert "rerank" in answer.search.stage_timings


@pytest.mark.parametrize("behaviour", [hangs, dribbles])
async def test_its_own_timeout_ends_it(shelf, endpoint, behaviour):
    endpoint.does(behaviour)
    async with with_stages(shelf, rerank=endpoint.url, timeout_ms=40) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
    assert names(answer) == list(SHELF)
    assert [(item.stage, item.reason) for item in answer.search.degraded_stages] == [("rerank", "timeout")]


async def test_a_redirect_carries_nothing_elsewhere(shelf, endpoint):
    async with local_endpoint(scores(len)) as elsewhere:
        endpoint.does(answers({}, status=307, Location=f"{elsewhere.url}/rerank"))
        async with with_stages(shelf, rerank=endpoint.url) as reranked:
            answer = await reranked.ask("refunds tier")
        assert elsewhere.connections == 0
    assert answer.search.degraded_stages[0].reason == "bad_response"


async def test_texts_that_still_wait_for_their_embedding_are_compared_first(world, endpoint):
    for name, said in SHELF.items():
        await world.write(name, (said, None, None))
    endpoint.does(scores(by_text(WORST_FIRST)))
    async with with_stages(world, rerank=endpoint.url) as reranked:
        answer = await reranked.ask("refunds tier", **WIDE)
    assert len(endpoint.calls) == 1
    assert names(answer) == list(reversed(SHELF))
    assert codes(answer)[LimitationCode.STALE_EMBEDDINGS] == 4


async def test_the_minimum_is_of_the_formula_and_the_budget_of_the_order(shelf, endpoint):
    plain = await without_stages(shelf).ask("refunds tier", **WIDE)
    endpoint.does(scores(by_text(WORST_FIRST)))
    least = plain.passages[2].candidate.score
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        above = await reranked.ask("refunds tier", **{**WIDE, "min_score": least})
        tokens = {item.passage.external_id: item.passage.tokens for item in plain.passages}
        within = await reranked.ask(
            "refunds tier", **{**WIDE, "token_budget": tokens["fourth.md"] + tokens["third.md"]}
        )
        first = await reranked.ask("refunds tier", **{**WIDE, "top_k": 1})
    assert names(above) == ["third.md", "second.md", "first.md"]
    assert [(item.type, item.count) for item in above.exclusions] == [(Reason.MIN_SCORE, 1)]
    assert names(within) == ["fourth.md", "third.md"]
    assert within.dropped_count == 2
    assert names(first) == ["fourth.md"]
    assert [(item.type, item.count) for item in first.exclusions] == [(Reason.TOP_K, 3)]


async def test_relevance_alone_keeps_its_order(shelf, endpoint):
    endpoint.does(scores(by_text(WORST_FIRST)))
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        assert names(await reranked.ask("refunds tier", **WIDE, mmr_lambda=1.0)) == list(reversed(SHELF))
        diverse = await reranked.ask("refunds tier", **WIDE, mmr_lambda=0.5)
    assert names(diverse)[0] == "fourth.md"
    assert sorted(names(diverse)) == sorted(SHELF)


async def test_equal_scores_leave_the_formula_its_order(shelf, endpoint):
    endpoint.does(scores(lambda sent: 0.5))
    async with with_stages(shelf, rerank=endpoint.url) as reranked:
        assert names(await reranked.ask("refunds tier", **WIDE)) == list(SHELF)


async def test_a_long_text_is_sent_in_part(world, endpoint):
    await world.write("long.txt", ("refunds " + "x" * 50_000, None, None))
    await world.settle()
    endpoint.does(scores(len))
    async with with_stages(world, rerank=endpoint.url) as reranked:
        assert names(await reranked.ask("refunds", **WIDE))
    assert max(map(len, endpoint.calls[0].json["documents"])) <= 4000


async def test_every_candidate_is_accounted_for(world, endpoint):
    """Many documents, classes and levels, and scores that follow nothing."""
    part = await world.add_space("project/part", Level.SUBPROJECT, "project")
    sources = [
        await world.add_source(f"{name} {number}", space, classification=name)
        for number, space in enumerate((world.project, part, world.root))
        for name in ("public", "confidential", "regulated")
    ]
    for number in range(40):
        said = "\n\n".join(f"# Part {n}\n\nRefunds of tier {n} in case {number}." for n in range(3))
        await world.write(f"{number}.md", (said, None, None), source=sources[number % len(sources)])
    await world.settle()
    endpoint.does(scores(lambda sent: hashlib.sha256(sent.encode()).digest()[0] / 255))
    async with with_stages(world, rerank=endpoint.url, candidates=20) as reranked:
        for options in ({}, WIDE, {"top_k": 3}, {"token_budget": 60}, {"min_score": 0.3}, {"mmr_lambda": 0.3}):
            answer = await reranked.ask("refunds tier case", space_key="project/part", **options)
            counted = [item for item in answer.exclusions if item.stage not in {"authorise", "gather"}]
            assert sum(item.count for item in counted) + len(answer.passages) == answer.search.candidates
            again = await reranked.ask("refunds tier case", space_key="project/part", **options)
            assert account(again) == account(answer)
    assert all(b"confidential" not in call.body and b"regulated" not in call.body for call in endpoint.calls)


async def test_it_takes_a_bounded_number_of_statements(shelf, endpoint):
    endpoint.does(scores(len))

    async def count(world, **options):
        with statements(world.parts.database) as seen:
            await world.ask("refunds tier", **options)
        return len(seen)

    async with with_stages(shelf, cache=SearchCache(0)) as searching:
        plain = await count(searching)
    async with with_stages(shelf, rerank=endpoint.url, cache=SearchCache(0)) as reranked:
        few = await count(reranked)
        for number in range(30):
            await shelf.write(f"more-{number}.md", (f"Refunds in memo {number}.", None, None))
        await shelf.settle()
        assert await count(reranked, **WIDE) == few
    # All but the record comes twice: the texts first to be compared, then to be delivered.
    assert few == 2 * plain - 1
