"""The trace beside an answer: the question as it was searched, and every candidate with what became of it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from sqlalchemy import text

from app.domain.errors import Code, MunimentError
from app.domain.instant import format_instant
from app.domain.trace import DELIVERED, NEAR_MISS, Kind, decode, encode
from app.memory.people import create_subject, forget_subject
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.retrieval.cache import SearchCache
from app.storage import traces
from tests.retrieval.shelves import libraries, make_shelf, moments, questions

BEFORE = {"authorise", "gather", NEAR_MISS}


async def row_of(world, answer):
    async with world.parts.database.snapshot(world.organisation) as session:
        return await traces.find(session, answer.trace_id)


async def trace_of(world, answer):
    return decode((await row_of(world, answer)).payload)


def with_retriever(world, **changed):
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, **changed)))


async def number_of_traces(world):
    async with world.parts.database.snapshot(world.organisation) as session:
        return await session.value(text("SELECT count(*) FROM retrieval_traces"))


@pytest.fixture
async def shelf(world):
    for number in range(12):
        await world.write(f"{number}.md", (f"refunds in memo {number}", None, None))
    await world.settle()
    return world


async def test_what_it_holds(shelf):
    answer = await shelf.ask("refunds in memo 3", top_k=3, min_score=0.001, session_id="s", near_misses=True)
    row, trace = await row_of(shelf, answer), await trace_of(shelf, answer)
    assert (row.request_id, row.attribution_id) == (answer.request_id, answer.attribution_id)
    assert (row.user_id, row.space_id) == (shelf.principal.id, shelf.project)
    assert row.issued_at == answer.contract.issued_at
    facts = trace.facts
    assert facts["query"] == "refunds in memo 3"
    assert facts["rewrittenQuery"] is None
    assert facts["model"] == shelf.parts.retriever.embedder.model
    assert facts["validAt"] == format_instant(answer.contract.valid_at)
    assert facts["knownAt"] == format_instant(answer.contract.known_at)
    assert facts["parameters"]["topK"] == 3
    assert facts["parameters"]["minScore"] == 0.001
    assert facts["request"] | {"spaceKey": "project", "sessionId": "s", "asOf": None} == facts["request"]
    assert facts["limitations"] == [item.code.value for item in answer.limitations]
    assert {"embed", "text", "vector", "total"} <= set(facts["timings"])
    assert np.array_equal(trace.vector, await shelf.parts.retriever.embedder.embed_query("refunds in memo 3"))
    assert [item.item for item in trace.candidates if item.stage == DELIVERED] == [
        item.candidate.id for item in answer.passages
    ]
    for item, passage in zip(trace.candidates, answer.passages, strict=False):
        scores = passage.candidate.scores
        assert item.kind is Kind.PASSAGE
        assert item.index == passage.index
        assert (item.whole, item.source, item.space) == (
            passage.candidate.document_id,
            passage.candidate.source_id,
            passage.candidate.space_id,
        )
        assert item.signals == {
            "vector": scores.vector,
            "text": scores.text,
            "cosine": scores.cosine,
            "bm25": scores.bm25,
            "level_weight": scores.level_weight,
            "rerank": None,
            "score": passage.candidate.score,
        }
        assert scores.cosine is not None
        assert scores.bm25 is not None
    assert sorted(item.rank for item in trace.candidates) == list(range(1, 13))
    assert len(trace.candidates) == answer.search.candidates


@bounded(
    phases=[Phase.explicit, Phase.generate],
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(libraries, st.lists(st.tuples(questions, moments | st.none()), min_size=3, max_size=5))
async def test_it_accounts_for_every_candidate(parts, library, asked):
    """As the exclusions do, and bit for bit as the answer says."""
    shelf = await make_shelf(parts)
    for doc, timeline in library.items():
        await shelf.write(doc, timeline)
        await shelf.world.settle()
    for options, as_of in asked:
        for cached in (False, True):
            answer = await shelf.world.ask(**options, as_of=as_of, near_misses=True)
            if options["query"].strip():
                assert answer.search.cache_hit or not cached
            payload = (await row_of(shelf.world, answer)).payload
            trace = decode(payload)
            assert encode(trace) == payload
            ids = [item.item for item in trace.candidates]
            assert len(ids) == len(set(ids)) == answer.search.candidates
            gone = Counter((item.reason, item.stage) for item in trace.candidates if item.index is None)
            told: Counter = Counter()
            for item in answer.exclusions:
                if item.stage not in BEFORE:
                    told[item.type, item.stage] += item.count
            assert gone == told
            delivered = [item for item in trace.candidates if item.index is not None]
            assert [(item.item, item.index, item.score, item.signals["vector"]) for item in delivered] == [
                (item.candidate.id, item.index, item.candidate.score, item.candidate.scores.vector)
                for item in answer.passages
            ]
            near = Counter(item.reason for item in trace.near_misses)
            told = Counter()
            for item in answer.exclusions:
                if item.stage == NEAR_MISS:
                    told[item.type] += item.count
            assert near == told


async def test_memories_are_in_it(shelf):
    for number in range(4):
        await shelf.parts.memory.remember(
            shelf.principal,
            Named(space_key="project"),
            Changes(text=f"The team ships refunds {number}."),
            since=None,
            until=None,
            from_now=False,
        )
    answer = await shelf.ask("refunds", max_memories=3)
    trace = await trace_of(shelf, answer)
    memories = [item for item in trace.candidates if item.kind is Kind.MEMORY]
    assert Counter(item.stage for item in memories) == {DELIVERED: 3, "recall": 1}
    for item, memory in zip(memories, answer.memories, strict=False):
        score = memory.candidate.score
        assert (item.item, item.whole) == (memory.candidate.hit.version_id, memory.candidate.hit.memory_id)
        assert item.source is None
        assert item.score == score.score
        assert item.signals["recency"] == score.recency


async def test_without_a_question(shelf):
    trace = await trace_of(shelf, await shelf.ask(None))
    assert trace.facts["query"] is None
    assert trace.vector is None
    assert trace.candidates == ()


async def test_switched_off(shelf):
    off = with_retriever(shelf, traces=False)
    answer = await off.ask("refunds")
    assert answer.trace_id is None
    assert answer.passages
    assert await number_of_traces(shelf) == 0


async def test_no_answer_when_it_cannot_be_stored(shelf, monkeypatch):
    """It is part of the same statement as the event."""
    monkeypatch.setattr(traces, "_STORE", text(traces._STORE.text.replace("retrieval_traces", "no_such_table")))
    with pytest.raises(MunimentError) as raised:
        await shelf.ask("refunds")
    assert raised.value.code is Code.ATTRIBUTION_FAILED
    assert "forgotten" not in raised.value.message
    async with shelf.parts.database.snapshot(shelf.organisation) as session:
        assert await session.value(text("SELECT count(*) FROM attribution_queue")) == 0


# Erasure


async def remember(world, said, subject):
    await world.parts.memory.remember(
        world.principal,
        Named(subject_id=subject, space_key="project"),
        Changes(text=said),
        since=None,
        until=None,
        from_now=False,
    )


async def test_a_forgotten_subject_s_traces_are_gone(shelf):
    for subject in ("ann", "bob"):
        await remember(shelf, f"{subject} likes refunds", subject)
    anns = await shelf.ask("what does Ann like", subject_id="ann")
    bobs = await shelf.ask("what does Bob like", subject_id="bob")
    nobodys = await shelf.ask("what is there")
    unknown = await shelf.ask("who is that", subject_id="carol")
    assert (await trace_of(shelf, anns)).facts["request"]["subjectId"] == "ann"
    await forget_subject(shelf.parts.database, shelf.principal, "ann")
    assert await row_of(shelf, anns) is None
    for answer in (bobs, nobodys, unknown):
        assert await row_of(shelf, answer) is not None
    # Of a subject that nothing was recalled of there is no key by which it could ever be erased: it is not named.
    assert (await trace_of(shelf, unknown)).facts["request"]["subjectId"] is None


async def test_a_retrieval_that_runs_while_its_subject_is_forgotten_leaves_no_trace(shelf, monkeypatch):
    """It fails rather than keep what was to be forgotten."""
    await create_subject(shelf.parts.database, shelf.principal, "ann", space_key="project")
    await remember(shelf, "Ann likes refunds", "ann")
    real = traces.store

    async def late(*arguments):
        await forget_subject(shelf.parts.database, shelf.principal, "ann")
        await real(*arguments)

    monkeypatch.setattr(traces, "store", late)
    with pytest.raises(MunimentError) as raised:
        await shelf.ask("what does Ann like", subject_id="ann")
    assert raised.value.code is Code.ATTRIBUTION_FAILED
    assert "forgotten meanwhile" in raised.value.message
    assert await number_of_traces(shelf) == 0


async def test_the_application_can_neither_edit_nor_delete_one(shelf):
    answer = await shelf.ask("refunds")
    for statement in ("UPDATE retrieval_traces SET payload = ''", "DELETE FROM retrieval_traces"):
        with pytest.raises(Exception, match="permission denied"):
            async with shelf.parts.database.unstamped(shelf.organisation) as session:
                await session.run(text(statement))
    assert await row_of(shelf, answer) is not None


async def test_a_cached_search_is_traced_as_any_other(shelf):
    world = with_retriever(shelf, cache=SearchCache())
    first, second = await world.ask("refunds"), await world.ask("refunds")
    mine, other = await trace_of(world, first), await trace_of(world, second)
    assert (mine.facts["cacheHit"], other.facts["cacheHit"]) == (False, True)
    assert mine.candidates == other.candidates
    assert mine.vector.tobytes() == other.vector.tobytes()
    assert mine.facts["validAt"] == other.facts["validAt"]
