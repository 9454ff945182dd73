"""Several models side by side: one is put in the place of another while questions are answered."""

from dataclasses import replace

import numpy as np
import pytest

from app.domain.contract import LimitationCode
from app.domain.errors import Code, MunimentError
from app.ingestion.embedding import EmbeddingWorker
from app.memory.resolve import Named
from app.memory.revision import Changes
from app.providers.embedder.endpoint import EndpointEmbedder
from app.providers.embedder.hashing import HashingEmbedder
from app.providers.endpoint import Endpoint
from app.storage import embeddings
from tests.fixtures.endpoint import answers, cuts

WIDE = 768


def wide(call):
    rows = HashingEmbedder().embed(call.json["input"])
    return np.pad(rows, ((0, 0), (0, WIDE - rows.shape[1])))


async def speaks(call, writer):
    data = [{"index": n, "embedding": [float(x) for x in row]} for n, row in enumerate(wide(call))]
    await answers({"data": data})(call, writer)


def switched(world, url):
    """The same store under another model, of another length."""
    embedder = EndpointEmbedder(Endpoint(url, "in_deployment"), "wide", WIDE)
    retriever = replace(world.parts.retriever, embedder=embedder)
    worker = EmbeddingWorker(world.parts.database, embedder)
    reindexer = replace(world.parts.reindexer, embedder=embedder)
    return replace(world, parts=replace(world.parts, retriever=retriever, embedding=worker, reindexer=reindexer))


async def fill(world, count):
    for number in range(count):
        await world.write(f"{number}.md", (f"# Rule {number}\n\nRefunds follow rule {number}.\n", None, None))
    await world.settle()


def told(answer, code):
    return next((item.count for item in answer.limitations if item.code is code), None)


async def test_after_a_switch_it_answers_at_once_and_wholly_after_a_backfill(world, endpoint):
    """CASES 19."""
    endpoint.does(speaks)
    await fill(world, 70)
    other = switched(world, endpoint.url)
    answer = await other.ask("refunds", top_k=50, max_per_level=50)
    assert len(answer.passages) == 50
    assert told(answer, LimitationCode.STALE_EMBEDDINGS) == 70
    assert await other.parts.reindexer.backfill(world.organisation) == 70
    await other.parts.embedding.drain(world.organisation)
    async with world.parts.database.snapshot(world.organisation) as session:
        for model in ("wide", HashingEmbedder.model):
            assert await embeddings.coverage(session, model) == (70, 70)
    after = await other.ask("refunds rule 3", top_k=50, max_per_level=50)
    assert told(after, LimitationCode.STALE_EMBEDDINGS) is None
    assert "vector:exact:wide" in after.contract.indexes
    former = await world.ask("refunds rule 3", top_k=50, max_per_level=50)
    assert told(former, LimitationCode.STALE_EMBEDDINGS) is None
    assert await other.parts.reindexer.backfill(world.organisation) == 0


async def test_an_endpoint_that_is_down_leaves_the_words(world, endpoint):
    await fill(world, 2)
    endpoint.does(cuts)
    answer = await switched(world, endpoint.url).ask("refunds")
    assert len(answer.passages) == 2
    assert told(answer, LimitationCode.DEGRADED) == 1
    assert [(item.stage, item.reason) for item in answer.search.degraded_stages] == [("embed", "error")]
    endpoint.does(speaks)
    answer = await switched(world, endpoint.url).ask("refunds")
    assert answer.search.degraded_stages == ()
    assert not answer.search.cache_hit


async def test_a_text_that_is_refused_holds_up_no_other(world, endpoint):
    async def picky(call, writer):
        if any("Rule 1" in text for text in call.json["input"]):
            await answers({}, 400)(call, writer)
        else:
            await speaks(call, writer)

    endpoint.does(picky)
    other = switched(world, endpoint.url)
    for number in range(3):
        await other.write(f"{number}.md", (f"# Rule {number}\n\nRefunds.\n", None, None))
    await other.parts.embedding.drain(world.organisation)
    async with world.parts.database.snapshot(world.organisation) as session:
        assert await embeddings.coverage(session, "wide") == (2, 3)
        assert await embeddings.depth(session) == 0


async def test_a_source_is_indexed_anew_while_it_is_found(world, owner):
    await fill(world, 40)
    before = await world.ask("refunds rule 7")
    await owner.execute("UPDATE postings SET terms = '{1:1}/1000000000' WHERE organisation_id = $1", world.organisation)
    await world.parts.reindexer.request(world.principal, str(world.source.id))
    while await world.parts.reindexer.step(world.organisation) is not None:
        assert len((await world.ask("refunds")).passages) == 5
    after = await world.ask("refunds rule 7")
    assert [item.passage.external_id for item in after.passages] == [
        item.passage.external_id for item in before.passages
    ]
    assert [item.candidate.score for item in after.passages] == [item.candidate.score for item in before.passages]
    assert await world.parts.embedding.depth(world.organisation) == 0
    async with world.parts.database.snapshot(world.organisation) as session:
        assert await embeddings.coverage(session, HashingEmbedder.model) == (40, 40)
    again = await world.ask("refunds rule 7", known_at=before.contract.known_at)
    assert [item.passage.external_id for item in again.passages]


async def test_memories_without_an_embedding_get_theirs(world, endpoint):
    endpoint.does(speaks)
    await world.parts.memory.remember(
        world.principal, Named(space_key="project"), Changes(text="Refunds wait."), since=None, until=None,
        from_now=True,
    )  # fmt: skip
    other = switched(world, endpoint.url)
    assert await other.parts.reindexer.backfill(world.organisation) == 1
    assert told(await other.ask("refunds"), LimitationCode.STALE_EMBEDDINGS) is None


@pytest.mark.parametrize("id", ["no id", "01a22c4e-2968-7457-9254-1a4081a5960e"])
async def test_a_source_that_is_not_there_is_not_found(world, id):
    for call in (world.parts.reindexer.request(world.principal, id),
                 world.parts.reindexer.backfill(world.organisation, id)):  # fmt: skip
        with pytest.raises(MunimentError) as refused:
            await call
        assert refused.value.code is Code.NOT_FOUND
