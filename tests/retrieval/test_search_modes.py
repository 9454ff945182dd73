"""Which way the vector leg goes, how many candidates a leg names, and what happens without the extension."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from app.assembly.installation import ALEMBIC
from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from app.domain.scoring import LEG_CANDIDATES, leg_candidates
from app.ingestion.embedding import EmbeddingWorker
from app.providers.embedder.hashing import HashingEmbedder
from app.retrieval.cache import SearchCache
from app.retrieval.request import make_request
from app.storage import search_vector
from app.storage.engine import Database
from app.storage.migration import migrate
from app.storage.vector_index import ensure_index
from tests.fixtures.owner import connection, database_beside
from tests.fixtures.store import make_world
from tests.retrieval.test_gather import Pointing

WIDE = {"top_k": 50, "max_per_level": 50, "max_passages_per_document": 50, "token_budget": None}


@pytest.fixture(scope="module")
async def beside(owner_url, parts):
    """The parts on a database of its own, which has the index and no rows of other tests."""
    async with database_beside(owner_url) as made:
        await asyncio.to_thread(migrate, made.owner_url, ALEMBIC)
        await ensure_index(made.owner_url, HashingEmbedder.model, HashingEmbedder.dimensions)
        database = Database.connect(made.url, pool_size=2)
        retriever = replace(parts.retriever, database=database, approximate=True, cache=SearchCache(0))
        embedding = EmbeddingWorker(database, parts.retriever.embedder)
        yield replace(parts, database=database, retriever=retriever, embedding=embedding), made.owner_url
        await database.close()


@pytest.fixture
async def approximate(beside, monkeypatch):
    """A world of 450 chunks that asks the index, as if they were many."""
    parts, owner_url = beside
    world = await make_world(parts)
    sections = "\n\n".join(f"# Rule {n}\n\nRefunds follow rule {n} of book {n % 7}." for n in range(450))
    await world.write("rules.md", (sections, None, None))
    await world.settle()
    plan = search_vector.prepare

    async def worth_it(session, scope, **wanted):
        await plan(session, scope, **wanted)
        return True

    monkeypatch.setattr(search_vector, "prepare", worth_it)
    async with connection(owner_url) as owner:
        await owner.execute("ANALYZE embeddings_live")
        yield world
        await owner.execute("DELETE FROM embeddings WHERE organisation_id = $1", world.organisation)
        await owner.execute("VACUUM embeddings")


def exactly(world):
    return replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, approximate=False)))


def ids(answer):
    return [(item.candidate.id, item.candidate.score) for item in answer.passages]


async def test_the_mode_is_told_and_the_answer_is_the_same(approximate):
    by_index = await approximate.ask("how do refunds follow book 3", **WIDE)
    exact = await exactly(approximate).ask("how do refunds follow book 3", **WIDE)
    assert by_index.search.vector_mode == "hnsw"
    assert by_index.contract.indexes == ("text:bm25", f"vector:hnsw:{HashingEmbedder.model}")
    assert exact.search.vector_mode == "exact"
    assert exact.contract.indexes == ("text:bm25", f"vector:exact:{HashingEmbedder.model}")
    assert len(set(ids(by_index)) & set(ids(exact))) >= 0.97 * len(exact.passages)
    assert {item.code for item in by_index.limitations} == {item.code for item in exact.limitations}
    assert ids(by_index) == ids(await approximate.ask("how do refunds follow book 3", **WIDE))


async def test_history_and_filters_on_tags_are_read_exactly(approximate):
    now = await approximate.ask("refunds")
    assert now.search.vector_mode == "hnsw"
    earlier = now.contract.valid_at - timedelta(days=1)
    await approximate.write("later.md", ("Written later.", None, None))
    for options in ({"as_of": earlier}, {"known_at": now.contract.known_at}, {"tags": ["x"]}):
        assert (await approximate.ask("refunds", **options)).search.vector_mode != "hnsw"
    later = await approximate.ask("refunds", as_of=now.contract.valid_at + timedelta(days=1))
    assert later.search.vector_mode == "hnsw"


async def test_what_the_index_leaves_short_is_asked_exactly(approximate):
    """One of ten chunks beside 450 of another source, which is filtered away."""
    issues = await approximate.add_source("issues", kind="issues")
    for number in range(10):
        await approximate.write(f"issue-{number}.md", (f"Refunds are slow, issue {number}.", None, None), source=issues)
    await approximate.settle()
    answer = await approximate.ask("refunds", source_kinds=["issues"], **WIDE)
    assert (answer.search.vector_mode, len(answer.passages)) == ("exact", 10)


async def test_what_is_superseded_is_gone_and_what_replaced_it_is_found(approximate):
    for revision in range(3):
        await approximate.write("memo.md", (f"The zebra desk, revision {revision}.", None, None))
        await approximate.settle()
        answer = await approximate.ask("zebra desk revision")
        assert answer.search.vector_mode == "hnsw"
        assert [item.passage.text for item in answer.passages if "zebra" in item.passage.text] == [
            f"The zebra desk, revision {revision}."
        ]


async def test_another_models_vectors_are_not_in_the_index(approximate):
    """CASE 19: there are none of the model that is asked with, of other dimensions too; the text is found."""
    retriever = replace(approximate.parts.retriever, embedder=Pointing((0.0, 1.0)))
    answer = await retriever.retrieve(make_request(approximate.principal, query="rule 7", space_key="project"))
    assert answer.search.vector_mode == "exact"
    assert answer.passages
    assert LimitationCode.STALE_EMBEDDINGS in {item.code for item in answer.limitations}


async def test_few_chunks_are_compared_one_by_one(beside):
    world = await make_world(beside[0])
    await world.write("a.md", ("Refunds are authorised.", None, None))
    await world.settle()
    answer = await world.ask("refunds")
    assert (answer.search.vector_mode, len(answer.passages)) == ("exact", 1)


@pytest.mark.parametrize(("top_k", "candidates"), [(0, 50), (8, 50), (25, 50), (26, 52), (50, 100)])
def test_a_leg_names_twice_what_is_asked_for_and_fifty_at_least(top_k, candidates):
    assert leg_candidates(top_k) == candidates


async def test_more_are_gathered_where_more_are_asked_for(world):
    sections = "\n\n".join(f"# Rule {n}\n\nRefunds follow rule {n}." for n in range(130))
    await world.write("rules.md", (sections, None, None))
    await world.settle()
    textual = replace(world, parts=replace(world.parts, retriever=replace(world.parts.retriever, embedder=None)))
    assert (await textual.ask("refunds")).search.candidates == LEG_CANDIDATES
    assert (await textual.ask("refunds", **WIDE)).search.candidates == 2 * WIDE["top_k"]


async def test_without_the_extension_nothing_is_delivered(owner_url, parts):
    async with database_beside(owner_url) as beside, connection(beside.owner_url) as owner:
        await asyncio.to_thread(migrate, beside.owner_url, ALEMBIC)
        database = Database.connect(beside.url, pool_size=1)
        try:
            there = await make_world(replace(parts, database=database))
            await there.write("a.md", ("Refunds are authorised.", None, None))
            await EmbeddingWorker(database, parts.retriever.embedder).drain(there.organisation)
            retriever = replace(parts.retriever, database=database, cache=SearchCache(0))
            request = make_request(there.principal, query="refunds", space_key="project")
            assert len((await retriever.retrieve(request)).passages) == 1
            recorded = await owner.fetchval("SELECT count(*) FROM attribution_queue")
            await owner.execute("DROP EXTENSION vector CASCADE")
            for embedder in (retriever.embedder, None, retriever.embedder):
                with pytest.raises(MunimentError) as refused:
                    await replace(retriever, embedder=embedder).retrieve(request)
                assert refused.value.code is Code.SEARCH_UNAVAILABLE
                assert "extension" in refused.value.message
            fresh = Database.connect(beside.url, pool_size=1)
            with pytest.raises(MunimentError) as refused:
                await replace(retriever, database=fresh).retrieve(request)
            assert refused.value.code is Code.SEARCH_UNAVAILABLE
            await fresh.close()
            assert await owner.fetchval("SELECT count(*) FROM attribution_queue") == recorded
        finally:
            await database.close()
