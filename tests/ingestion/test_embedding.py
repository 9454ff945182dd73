"""Embedding in the background: nothing is lost, nothing is embedded twice, a killed worker only delays."""

import asyncio
from datetime import timedelta

import numpy as np
import pytest

from app.domain.document import embedding_text
from app.ingestion.embedding import BATCH, EmbeddingWorker
from app.providers.embedder.hashing import HashingEmbedder
from app.storage import embeddings
from tests.ingestion.gate import until

PAGE = "# Page {0}\n\nIt says {0}.\n"


class Recording(HashingEmbedder):
    """The real embedder; it remembers what it was asked to embed, and may be stopped before it answers."""

    def __init__(self):
        super().__init__()
        self.texts = []
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def embed_documents(self, texts):
        self.texts += texts
        self.asked.set()
        await self.may_answer.wait()
        return await super().embed_documents(texts)


@pytest.fixture
def recording():
    embedder = Recording()
    yield embedder
    embedder.close()


@pytest.fixture
def worker(world, recording):
    return EmbeddingWorker(world.parts.database, recording)


async def pages(world, number):
    for page in range(number):
        await world.write(f"{page}.md", (PAGE.format(page), None, None))


async def lapse(owner, world):
    """What a minute does."""
    await owner.execute(
        "UPDATE embedding_queue SET claimed_until = claimed_until - $2::interval WHERE organisation_id = $1",
        world.organisation,
        2 * embeddings.LEASE,
    )


async def test_a_killed_worker_s_claim_lapses(world, worker, recording, intake, owner):
    await pages(world, 5)
    recording.may_answer.clear()
    killed = asyncio.create_task(worker.batch(world.organisation))
    await until(recording.asked, killed)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    recording.may_answer.set()
    assert await worker.drain(world.organisation) == 0, "the claim still holds"
    assert await worker.depth(world.organisation) == 5
    await lapse(owner, world)
    assert await worker.drain(world.organisation) == 5
    assert await worker.depth(world.organisation) == 0
    await intake.audit.check(world.source)


async def test_a_worker_that_was_only_slow_adds_nothing(world, worker, recording, intake, owner):
    await pages(world, 3)
    recording.may_answer.clear()
    slow = asyncio.create_task(worker.batch(world.organisation))
    await until(recording.asked, slow)
    await lapse(owner, world)
    other = Recording()
    assert await EmbeddingWorker(world.parts.database, other).drain(world.organisation) == 3
    other.close()
    before = await intake.audit.rows()
    recording.may_answer.set()
    await slow
    after = await intake.audit.rows()
    assert {table for table in before if before[table] != after[table]} <= {"organisation_clocks"}
    await intake.audit.check(world.source)


async def test_many_workers_embed_each_chunk_once(world, recording, intake):
    await pages(world, 2 * BATCH + 10)
    workers = [EmbeddingWorker(world.parts.database, recording) for _ in range(4)]
    done = await asyncio.gather(*(worker.drain(world.organisation) for worker in workers))
    assert sum(done) == len(recording.texts) == len(set(recording.texts)) == 2 * BATCH + 10
    await intake.audit.check(world.source)


async def test_a_document_that_changes_while_it_is_embedded(world, worker, recording, intake, instant):
    """The claimed chunk is closed; its copy, which ends where the change begins, waits in its place."""
    await world.write("page.md", ("# Page\n\nBefore.\n", instant, None))
    recording.may_answer.clear()
    late = asyncio.create_task(worker.batch(world.organisation))
    await until(recording.asked, late)
    change = instant + timedelta(days=1)
    await world.write("page.md", ("# Page\n\nBefore.\n", instant, change), ("# Page\n\nAfter.\n", change, None))
    recording.may_answer.set()
    await late
    await intake.audit.check(world.source)
    assert await intake.audit.vectors(world.source) == {}
    assert await worker.drain(world.organisation) == 2
    await intake.audit.check(world.source)
    assert len(await intake.audit.vectors(world.source)) == 2


async def test_a_document_that_goes_while_it_is_embedded(world, worker, recording, intake):
    await world.write("page.md", ("# Page\n\nBefore.\n", None, None))
    recording.may_answer.clear()
    late = asyncio.create_task(worker.batch(world.organisation))
    await until(recording.asked, late)
    await world.write("page.md")
    recording.may_answer.set()
    await late
    assert await intake.audit.vectors(world.source) == {}
    assert await intake.audit.queued() == set()
    await intake.audit.check(world.source)


async def test_what_holds_now_is_embedded_first(world, worker, recording, instant):
    changes = [instant + timedelta(days=days) for days in range(BATCH + 5)]
    revisions = [
        (f"Revision {number}.\n", start, end)
        for number, (start, end) in enumerate(zip(changes, [*changes[1:], None], strict=True))
    ]
    await world.write("page.txt", *revisions)
    await worker.batch(world.organisation)
    assert recording.texts[0] == embedding_text("page.txt", [], f"Revision {BATCH + 4}.")


async def test_an_embedding_is_stamped_when_it_is_attached(world, worker, owner):
    """A past answer that had no vector for a chunk finds none when it is asked again."""
    await pages(world, 2)
    await worker.drain(world.organisation)
    rows = await owner.fetch(
        "SELECT c.system_from < e.system_from AS later FROM embeddings e JOIN chunks c "
        "ON c.organisation_id = e.organisation_id AND c.id = e.chunk_id WHERE e.organisation_id = $1",
        world.organisation,
    )
    assert [row["later"] for row in rows] == [True, True]


async def test_the_same_text_with_another_title_is_another_embedding(world, worker, recording, intake, instant):
    body = "The same words under two titles.\n"
    await world.write("one.txt", (body, instant, None))
    await world.write("two.txt", (body, instant, None))
    await worker.drain(world.organisation)
    assert sorted(recording.texts) == [f"{name}\n{body.strip()}" for name in ("one.txt", "two.txt")]
    vectors = [
        np.array([float(part) for part in vector.strip("[]").split(",")])
        for vector in (await intake.audit.vectors(world.source)).values()
    ]
    assert not np.array_equal(*vectors)
